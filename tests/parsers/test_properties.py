"""What holds for every family and any output."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.think import Think
from orchestrator.parsers.text import trim
from tests.parsers.families import ALL, TEXT, Family, parser
from tests.parsers.recorded import random_pieces, total

ON = Think(on=True)
THINKS = (None, ON, Think(on=False))


@st.composite
def soups(draw: st.DrawFn, family: Family) -> str:
    """Tags, calls and text of a family in any order; every word in it is there once."""
    tags = [*family.tags, *filter(None, [family.call])]
    piece = st.one_of(st.sampled_from(tags), st.sampled_from(TEXT), st.just(None))
    pieces = draw(st.lists(piece, max_size=16))
    return "".join(f"w{number}z" if part is None else part for number, part in enumerate(pieces))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), think=st.sampled_from(THINKS))
def test_any_cut_gives_the_same_sums(
    name: str, data: st.DataObject, think: Think | None
) -> None:  # case B036
    text = data.draw(soups(ALL[name]))
    whole = total(parser(name, think), [text])
    assert total(parser(name, think), text) == whole
    assert total(parser(name, think), random_pieces(text, seed=text)) == whole


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_word_is_lost_and_none_comes_twice(name: str, data: st.DataObject) -> None:
    family = ALL[name]
    text = data.draw(soups(family))
    found = json.dumps(total(parser(name, ON), [text]))
    for number in range(16):
        word = f"w{number}z"
        assert found.count(word) <= text.count(word)
        assert family.drops_noise or found.count(word) == text.count(word)


@pytest.mark.parametrize("name", [name for name, family in ALL.items() if family.call])
def test_a_call_is_read(name: str) -> None:
    family = ALL[name]
    found = total(parser(name, Think(on=False)), [family.call])
    assert found == {
        "content": "",
        "thinking": "",
        "calls": [{"name": "note", "arguments": {"a": "x"}}],
    }


@pytest.mark.parametrize("name", [name for name, family in ALL.items() if family.call])
def test_a_call_cut_short_is_text_or_the_whole_call(name: str) -> None:  # cases B027, B037
    call = ALL[name].call
    for end in range(1, len(call)):
        found = total(parser(name, Think(on=False)), call[:end])
        arguments = [made["arguments"] for made in found["calls"]]
        # in harmony a message without text is a call without arguments
        assert arguments in ([], [{"a": "x"}], [{}] if name == "harmony" else [])


@pytest.mark.parametrize("name", [name for name in ALL if name != "passthrough"])
def test_what_is_held_back_is_shorter_than_a_tag(name: str) -> None:
    family = ALL[name]
    for prefix, think, part in _streams(family):
        feed = parser(name, think).feed
        feed(prefix)
        prose = "".join(f"and {tag[:-1]}~ so  on\n\n" for tag in family.tags if len(tag) > 4)
        out = ""
        for end, char in enumerate(prose, start=1):
            out += getattr(feed(char), part)
            assert prose.startswith(out)
            assert len(trim(prose[len(out) : end])) < max(map(len, family.tags))


def _streams(family: Family) -> Iterator[tuple[str, Think | None, str]]:
    """Beginnings of outputs, and where text goes from there."""
    yield family.to_content, ON if family.thinks else Think(on=False), "content"
    if family.thinks or family.to_thinking:
        yield family.to_thinking, ON, "thinking"


@pytest.mark.parametrize("name", ALL)
def test_time_grows_with_the_length_only(name: str) -> None:
    family = ALL[name]
    units = (
        "".join(family.tags),
        family.tags[0],
        family.call[: len(family.call) // 2] or " \n",
        family.call[:-4] + ' {"name" x',
    )
    for unit in units:
        short, long = (unit * (length // len(unit)) for length in (100_000, 1_000_000))
        # ten times the length: a square law would take a hundred times as long
        assert _seconds(name, long) < 40 * _seconds(name, short) + 0.5, unit


def _seconds(name: str, text: str) -> float:
    """CPU time of one output in pieces of 500 characters."""
    started = parser(name, ON)
    begin = time.process_time()
    total(started, (text[start : start + 500] for start in range(0, len(text), 500)))
    return time.process_time() - begin
