"""How files are cut, and the states of parts in the form of Ollama."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.registry.parts import Part, PartSizes, contiguous, fits


@pytest.mark.parametrize(
    ("total", "count", "first"),
    [
        (0, 0, 0),
        (1, 1, 1),
        (100_000_000, 1, 100_000_000),
        (100_000_001, 2, 100_000_000),
        (1_000_000_000, 10, 100_000_000),
        (4_000_000_000, 16, 250_000_000),
        (40_000_000_000, 40, 1_000_000_000),
    ],
)
def test_parts_have_the_sizes_of_ollama(total: int, count: int, first: int) -> None:
    parts = PartSizes().cut(total)
    assert len(parts) == count
    assert not parts or parts[0].size == first


@given(st.integers(0, 10**12), st.integers(1, 10**6), st.integers(1, 64))
def test_parts_cover_the_file(total: int, least: int, share: int) -> None:
    parts = PartSizes(share, max(least, total // 500), 10**9).cut(total)
    assert fits(parts, total)
    assert contiguous(parts) == 0
    assert [part.number for part in parts] == list(range(len(parts)))


def test_a_state_is_one_line_of_json() -> None:
    line = b'{"N":3,"Offset":300,"Size":100,"Completed":7}\n'
    part = Part.from_line(line)
    assert part == Part(3, 300, 100, 7)
    assert part.to_line() == line
    assert part.position == 307
    assert part.end == 400


@pytest.mark.parametrize(
    "line",
    [b"", b"[]", b"{", b'{"N":-1}', b'{"Size":1,"Completed":2}', b'{"N":"1"}', b'{"N":true}', b"\xff"],
)
def test_states_that_are_none_are_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - several messages
        Part.from_line(line)


@pytest.mark.parametrize(
    "parts",
    [[Part(0, 0, 10)], [Part(0, 0, 10), Part(1, 11, 9)], [Part(0, 0, 12), Part(1, 10, 10)], [Part(0, 1, 20)]],
)
def test_parts_with_gaps_or_overlaps_do_not_fit(parts: list[Part]) -> None:
    assert not fits(parts, 20)


def test_what_is_contiguous_ends_at_the_first_gap() -> None:
    parts = [Part(0, 0, 10, 10), Part(1, 10, 10, 4), Part(2, 20, 10, 10)]
    assert contiguous(parts) == 14


def test_a_part_only_advances() -> None:
    part = Part(1, 10, 10, 5)
    assert not part.advance(12)
    assert part.advance(17)
    assert part.advance(100)
    assert part.is_complete
