from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.runners.sse import EVENT_LIMIT, EventDecoder, EventTooLong

STREAM = b"\r\n".join(
    [
        b":",
        b"event: message",
        b"id: 7",
        b"retry: 10",
        b'data: {"a": "\xc3\xa9"}',
        b"",
        b'data:{"b":1}',
        b"",
        b'{"error":"bare"}',
        b"data: [DONE]",
        b"",
        b"",
    ]
)
PAYLOADS = [b'{"a": "\xc3\xa9"}', b'{"b":1}', b'{"error":"bare"}', b"[DONE]"]


def decode(*pieces: bytes) -> list[bytes]:
    decoder = EventDecoder()
    payloads = [payload for piece in pieces for payload in decoder.feed(piece)]
    return [payload.strip() for payload in payloads + decoder.feed(b"\n")]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_payloads_come_out_whatever_else_stands_in_the_stream(line_end: bytes) -> None:
    assert decode(STREAM.replace(b"\r\n", line_end)) == PAYLOADS


@given(st.lists(st.integers(0, len(STREAM))))
def test_any_split_gives_the_same_payloads(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in zip(places, places[1:], strict=False)]
    assert decode(*pieces) == PAYLOADS


def test_events_need_no_blank_line_between_them() -> None:
    assert decode(b"data: 1\ndata: 2\n") == [b"1", b"2"]


def test_the_last_line_needs_no_end() -> None:
    assert decode(b"data: 1\n\ndata: 2") == [b"1", b"2"]


def test_all_complete_events_of_a_piece_come_at_once() -> None:
    assert EventDecoder().feed(b"data: 1\n\ndata: 2\n\ndata: 3") == [b"1", b"2"]


@pytest.mark.parametrize("size", [1 << 16, 1 << 20, 1 << 24])
def test_an_event_beyond_the_limit_is_an_error_however_it_comes(size: int) -> None:
    event = b"data: " + b"x" * EVENT_LIMIT + b"\n"
    with pytest.raises(EventTooLong, match="exceeded 8 MB limit"):
        decode(*(event[start : start + size] for start in range(0, len(event), size)))


def test_an_event_up_to_the_limit_is_accepted() -> None:
    payload = b"x" * (EVENT_LIMIT - 6)
    assert decode(b"data: " + payload[:10], payload[10:], b"\ndata: 2\n") == [payload, b"2"]
