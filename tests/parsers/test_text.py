"""Blank characters and tags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.parsers.text import NO_TAGS, Tags, ends_within, trim

TAGS = Tags("<think>", "</think>", "[ARGS]")


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [(" a \n", "a"), ("\x1ca\x1f", "\x1ca\x1f"), ("\u3000\u2009a\u0085", "a"), ("", "")],
)
def test_white_space_is_what_unicode_says(text: str, trimmed: str) -> None:
    assert trim(text) == trimmed


@pytest.mark.parametrize(
    ("text", "length"),
    [("a <", 1), ("a </thi", 5), ("a <think>", 0), ("<<th", 3), ("[ARGS", 5), ("", 0), ("<thinx", 0)],
)
def test_the_longest_beginning_of_a_tag_at_the_end_counts(text: str, length: int) -> None:
    assert TAGS.partial(text) == length
    assert TAGS.without_partial(text) == text[: len(text) - length]


@given(st.text("<>/[]thinkARGS", max_size=12))
def test_a_partial_tag_is_the_longest_suffix_that_begins_a_tag(text: str) -> None:
    overlaps = [
        length
        for tag in TAGS.all
        for length in range(1, len(tag))
        if text.endswith(tag[:length])
    ]  # fmt: skip
    assert TAGS.partial(text) == max(overlaps, default=0)


def test_the_first_complete_tag_is_found() -> None:
    match = TAGS.search("a <thin [ARGS] </think>")
    assert match is not None
    assert match.group() == "[ARGS]"


def test_without_tags_nothing_is_found() -> None:
    assert NO_TAGS.search("<think>") is None
    assert NO_TAGS.stirs("<") is None
    assert NO_TAGS.partial("<") == 0


@pytest.mark.parametrize(
    ("text", "within", "ends"),
    [("a", True, True), ("a", False, False), ("<p> b", False, True), ("<p> b </p>", False, False)],
)
def test_the_last_tag_says_whether_an_element_is_open(text: str, within: bool, ends: bool) -> None:
    assert ends_within(text, "<p>", "</p>", within=within) is ends
