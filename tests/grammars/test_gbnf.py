from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.grammars.errors import SchemaTooLarge
from orchestrator.grammars.gbnf import MOST_TEXT, RuleBook, literal, one_of, repeated
from tests.grammars.gbnf import Gbnf

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT, TEXT)
def test_a_literal_is_its_text(text: str, other: str) -> None:
    grammar = Gbnf(f"root ::= {literal(text)}\n")
    assert grammar.accepts(text)
    assert grammar.accepts(other) == (other == text)


@given(st.integers(0, 4), st.none() | st.integers(0, 4), st.integers(0, 6))
def test_repetitions_are_counted(least: int, more: int | None, count: int) -> None:
    most = None if more is None else least + more
    grammar = Gbnf(f'root ::= {repeated("[a]", least, most)} "b"\n')
    assert grammar.accepts("a" * count + "b") == (least <= count and (most is None or count <= most))


def test_alternatives_are_in_brackets_and_equal_ones_count_once() -> None:
    assert one_of(["a", "b", "a"]) == "(a | b)"
    assert one_of(["a", "a"]) == "a"


def test_names_are_made_of_what_the_notation_allows() -> None:
    book = RuleBook()
    assert [book.reserve(hint) for hint in ("a/b c", "a-b-c", "ü", "", "root")] == [
        "a-b-c",
        "a-b-c-2",
        "part",
        "part-2",
        "root",
    ]


def test_equal_rules_have_one_name() -> None:
    book = RuleBook()
    assert book.add("x", '"a"') == book.add("y", '"a"') == "x"
    assert book.add("x", '"b"') == "x-2"
    assert book.text() == 'x ::= "a"\nx-2 ::= "b"\n'


def test_a_book_has_an_end() -> None:
    book = RuleBook()
    with pytest.raises(SchemaTooLarge):
        book.define("a", literal("x" * MOST_TEXT))


def test_so_many_repetitions_are_too_many() -> None:
    book = RuleBook()
    for number in range(100):
        book.define(f"a{number}", "[a]{0,2000}")
    with pytest.raises(SchemaTooLarge):
        book.define("b", "[b]{1,2}")
