"""Breaking lines while they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.wordwrap import WordWrap
from tests.cli_replay.screen import visible

TEXTS = st.text(st.sampled_from("ab \n日"), max_size=120)


def test_a_word_that_does_not_fit_moves_to_the_next_line() -> None:
    assert WordWrap(20).feed("one two three four") == "one two three f\x1b[1D\x1b[K\nfour"


def test_a_line_that_fits_is_left_alone() -> None:
    assert WordWrap(20).feed("one two three\nfour") == "one two three\nfour"


def test_a_word_wider_than_a_line_is_broken_in_place() -> None:
    assert WordWrap(20).feed("x" * 20) == "x" * 15 + "\x1b[K\n" + "x" * 5


def test_a_narrow_terminal_wraps_by_itself() -> None:
    assert WordWrap(9).feed("one two three four") == "one two three four"


def test_wide_characters_are_broken_anywhere() -> None:
    assert WordWrap(15).feed("日本語日本語") == "日本語日本\x1b[K\n語"


@pytest.mark.parametrize("width", [10, 16, 30])
@given(text=TEXTS)
def test_nothing_but_blanks_and_line_ends_changes(width: int, text: str) -> None:
    written = visible(WordWrap(width).feed(text))
    assert "".join(written.split()) == "".join(text.split())


@given(text=TEXTS, cut=st.integers(0, 120))
def test_pieces_are_wrapped_like_the_whole(text: str, cut: int) -> None:
    wrap = WordWrap(16)
    assert wrap.feed(text[:cut]) + wrap.feed(text[cut:]) == WordWrap(16).feed(text)


@given(text=TEXTS)
def test_no_line_passes_the_margin_by_more_than_a_character(text: str) -> None:
    from orchestrator.cli.cells import cells

    lines = visible(WordWrap(30).feed(text)).split("\n")
    assert max(map(cells, lines)) <= 26
