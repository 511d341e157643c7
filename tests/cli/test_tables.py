"""Tables and the width of text."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.cells import cells
from orchestrator.cli.tables import block, table


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200bb", 2), ("…", 1)]
)
def test_a_text_is_as_wide_as_its_cells(text: str, width: int) -> None:
    assert cells(text) == width


def test_rows_are_padded_to_the_end_and_the_header_by_one() -> None:
    rows = [("model1", "a70ff7e570d9", "1.0 KB", "24 hours ago")]
    assert table(("NAME", "ID", "SIZE", "MODIFIED"), rows) == (
        "NAME      ID              SIZE      MODIFIED     \n"
        "model1    a70ff7e570d9    1.0 KB    24 hours ago    \n"
    )


def test_a_table_without_rows_is_its_header() -> None:
    assert table(("NAME", "SIZE"), []) == "NAME    SIZE \n"


def test_wide_characters_do_not_shift_the_next_column() -> None:
    assert block([("日本", "x"), ("abcde", "y")]) == "日本     x    \nabcde    y    \n"


def test_a_short_row_ends_where_it_ends() -> None:
    rows = [("stop", '"two', 'words"'), ("seed", "42")]
    assert block(rows, indent=2) == '  stop    "two    words"    \n  seed    42      \n'


def test_a_wide_cell_is_wrapped_at_blanks() -> None:
    assert block([("key", "one two three")], limit=7) == "key    one two    \n       three      \n"


def test_a_long_word_is_not_cut() -> None:
    assert block([("key", "x" * 40)]) == f"key    {'x' * 40}    \n"


def test_a_column_with_a_wrapped_cell_is_as_wide_as_may_be() -> None:
    assert block([("one two three", "x"), ("a", "y")], limit=10) == (
        "one two       x    \nthree              \na             y    \n"
    )


def test_further_lines_of_a_row_are_set_in_further() -> None:
    assert block([("one two three",), ("four",)], indent=4, limit=7) == (
        "    one two    \n      three      \n    four       \n"
    )


def test_lines_are_wrapped_so_that_little_is_left_over_in_all() -> None:
    """The first line could hold another word, but then the second would be nearly empty."""
    assert block([("aa bb cccccc dd",)], limit=6) == "aa bb     \ncccccc    \ndd        \n"
    assert block([("aaa bb cc ddddd ee",)], limit=6) == "aaa       \nbb cc     \nddddd     \nee        \n"


def test_blanks_in_a_row_stay_where_they_are() -> None:
    assert block([("a  b",)], limit=30) == "a  b    \n"


WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", "dddddd"]), min_size=1, max_size=9)


@given(WORDS, st.integers(1, 9))
def test_no_way_of_wrapping_leaves_less_over(words: list[str], limit: int) -> None:
    limit = max(limit, *map(len, words))
    lines = [line[:limit] for line in block([(" ".join(words),)], limit=limit).splitlines()]
    assert " ".join(lines).split() == " ".join(words).split()
    ways = [
        lines_of(words, ends)
        for count in range(len(words))
        for ends in combinations(range(1, len(words)), count)
    ]
    assert left_over(lines, limit) == min(
        left_over(way, limit) for way in ways if max(map(len, way)) <= limit
    )


def lines_of(words: list[str], ends: tuple[int, ...]) -> list[str]:
    return [" ".join(words[start:end]) for start, end in pairwise((0, *ends, len(words)))]


def left_over(lines: list[str], limit: int) -> int:
    return sum((limit - len(line.rstrip())) ** 2 for line in lines[:-1])
