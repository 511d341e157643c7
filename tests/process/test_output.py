from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.process.output import LineSplitter, Tail


def lines_of(pieces: list[bytes], limit: int = 16) -> list[str]:
    splitter = LineSplitter(limit)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.close()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in zip(marks, marks[1:], strict=False)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\n\ntwo", ["one", "", "two"]),
        (b"\xff\n", ["�"]),
        (b"a" * 40 + b"\n", ["a" * 16, "a" * 16, "a" * 8]),
        (b"a" * 16 + b"\n", ["a" * 16]),
        ("a€€€€€€".encode(), ["a€€€€€", "€"]),
        (b"\x80" * 20, ["�" * 16, "�" * 4]),
    ],
)
def test_output_is_cut_into_bounded_lines(data: bytes, lines: list[str]) -> None:
    assert lines_of([data]) == lines


@given(
    st.text(alphabet="ab€\n\r😀").map(str.encode) | st.binary(), st.lists(st.integers(0, 10_000), max_size=8)
)
def test_the_pieces_that_output_comes_in_make_no_difference(data: bytes, places: list[int]) -> None:
    assert lines_of(cut(data, places)) == lines_of([data])


@given(st.text(alphabet="ab€\n😀"))
def test_no_text_is_lost(text: str) -> None:
    assert "".join(lines_of([text.encode()])) == text.replace("\n", "")


@given(st.lists(st.binary(max_size=40)), st.integers(1, 32))
def test_the_tail_is_the_end_of_everything(pieces: list[bytes], limit: int) -> None:
    tail = Tail(limit)
    for piece in pieces:
        tail.feed(piece)
    everything = b"".join(pieces)
    assert everything.decode(errors="replace").endswith(tail.text.lstrip("�") or "")
    assert len(tail.text) <= limit


def test_the_tail_starts_with_a_whole_character() -> None:
    tail = Tail(4)
    tail.feed("€€".encode())
    assert tail.text == "€"
