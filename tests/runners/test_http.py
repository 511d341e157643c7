from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.runners.http import MalformedResponse, ResponseReader

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n1;name=value\r\n \r\n00000a\r\nworld\r\n\r\n!\r\n0\r\n\r\n"
)
SIZED = b"HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello"
OPEN = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in zip(places, places[1:], strict=False)]


@pytest.mark.parametrize(
    ("response", "status", "body"),
    [(CHUNKED, 200, b"hello world\r\n\r\n!"), (SIZED, 404, b"hello"), (OPEN, 200, b"hello")],
)
@given(cuts=st.lists(st.integers(0, 140)))
def test_any_split_gives_the_same_response(
    response: bytes, status: int, body: bytes, cuts: list[int]
) -> None:
    reader = ResponseReader()
    read = b"".join(part for piece in pieces_of(response, cuts) for part in reader.feed(piece))
    assert reader.end()
    assert (reader.status, read, reader.complete) == (status, body, True)


@pytest.mark.parametrize("response", [CHUNKED, SIZED])
def test_a_response_that_ends_early_is_not_complete(response: bytes) -> None:
    for length in range(len(response) - 2 if response is CHUNKED else len(response)):
        reader = ResponseReader()
        reader.feed(response[:length])
        assert not reader.end() or response is CHUNKED and length >= len(response) - 2


def test_an_empty_body_is_complete_with_the_head() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n") == []
    assert reader.complete


def test_bytes_after_the_body_are_ignored() -> None:
    reader = ResponseReader()
    assert b"".join(reader.feed(SIZED + b"more")) == b"hello"
    reader = ResponseReader()
    assert b"".join(reader.feed(CHUNKED + b"more")) == b"hello world\r\n\r\n!"


@pytest.mark.parametrize(
    "response",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 2000,
        b"x" * 70_000,
    ],
)
def test_what_is_no_response_is_an_error(response: bytes) -> None:
    with pytest.raises(MalformedResponse, match="malformed"):
        ResponseReader().feed(response)
