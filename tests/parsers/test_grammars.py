"""Whole outputs of every family, and what is left of them when they are cut short or damaged."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.think import Think
from tests.parsers.families import ALL, parser
from tests.parsers.grammars import GRAMMARS, outputs
from tests.parsers.recorded import total

ON = Think(on=True)
_WORD = re.compile(r"w\d+z")
_PLACES = st.lists(st.integers(0, 10_000), min_size=3, max_size=3)

DROPS_THE_REST = ("cohere",)
"""Of a list of calls that is cut short the whole ones count; the records drop the beginning of another."""

each_family = pytest.mark.parametrize("name", GRAMMARS)


def found(name: str, text: str, places: Sequence[int]) -> dict[str, Any]:
    """What a parser makes of an output: the same in characters, and cut in two at any of ``places``."""
    whole = total(parser(name, ON), [text])
    assert total(parser(name, ON), text) == whole
    for place in (number % (len(text) + 1) for number in places):
        assert total(parser(name, ON), (text[:place], text[place:])) == whole
    return whole


def words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def test_every_family_has_a_grammar() -> None:
    assert ALL.keys() - GRAMMARS.keys() == {"generic 'Action: ```json\\n['"}


@each_family
@settings(max_examples=8, deadline=None)
@given(data=st.data(), places=_PLACES)
def test_an_output_is_read_as_it_was_meant(name: str, data: st.DataObject, places: list[int]) -> None:
    said = data.draw(outputs(GRAMMARS[name]))
    assert found(name, GRAMMARS[name].write(said), places) == said.totals


@each_family
@settings(max_examples=12, deadline=None)
@given(data=st.data(), places=_PLACES, end=st.integers(0, 10_000))
def test_an_output_cut_short_loses_no_word_and_makes_up_no_argument(
    name: str, data: st.DataObject, places: list[int], end: int
) -> None:
    said = data.draw(outputs(GRAMMARS[name]))
    text = GRAMMARS[name].write(said)
    text = text[: end % len(text)]
    cut, meant = found(name, text, places), said.totals
    kept = words(json.dumps(cut))
    assert kept == words(text) or (name in DROPS_THE_REST and cut["calls"] and kept < words(text))
    assert len(cut["calls"]) <= len(meant["calls"])
    for call, whole in zip(cut["calls"], meant["calls"], strict=False):
        assert call["name"] == whole["name"]
        assert call["arguments"].items() <= whole["arguments"].items() or call == whole


@each_family
@settings(max_examples=12, deadline=None)
@given(data=st.data(), places=_PLACES, start=st.integers(0, 10_000), length=st.integers(1, 12))
def test_a_damaged_output_reads_alike_however_it_is_cut_and_says_nothing_twice(
    name: str, data: st.DataObject, places: list[int], start: int, length: int
) -> None:
    text = GRAMMARS[name].write(data.draw(outputs(GRAMMARS[name])))
    start %= len(text)
    inserted = data.draw(st.sampled_from(("", *ALL[name].tags)))
    text = text[:start] + inserted + text[start + length * (not inserted) :]
    read = json.dumps(found(name, text, places))
    for word in words(text):
        assert read.count(word) <= text.count(word)
