from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.grammars.characters import PLAIN, Characters
from tests.grammars.gbnf import Gbnf

POINTS = st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF) | st.integers(0, 130)
SPANS = st.tuples(POINTS, POINTS).map(lambda ends: (min(ends), max(ends)))
SETS = st.lists(SPANS | st.text(max_size=3), max_size=4).map(lambda spans: Characters.of(*spans))
CHARACTERS = POINTS.map(chr)


@given(SETS, SETS, CHARACTERS)
def test_sets_are_joined_and_turned_round(first: Characters, second: Characters, character: str) -> None:
    assert (character in (first | second)) == (character in first or character in second)
    assert (character in (first & second)) == (character in first and character in second)
    assert (character in ~first) == (character not in first)


@given(SETS, st.lists(CHARACTERS, max_size=10))
def test_a_set_is_written_as_json_has_it(characters: Characters, candidates: list[str]) -> None:
    expression = characters.in_json()
    for character in [*candidates, *'"\\\n\ta']:
        written = json.dumps(character, ensure_ascii=False)[1:-1]
        expected = character in characters and (character in PLAIN or character in '"\\\b\f\n\r\t')
        accepted = expression is not None and Gbnf(f"root ::= {expression}\n").accepts(written)
        assert accepted == expected


def test_a_set_that_json_cannot_write_has_no_expression() -> None:
    assert Characters.of("\x00").in_json() is None
    assert Characters.of().in_json() is None
