"""Tables and the width of text."""

from __future__ import annotations

import pytest

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
