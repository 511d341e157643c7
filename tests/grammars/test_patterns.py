from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.grammars.gbnf import RuleBook
from orchestrator.grammars.json_rules import json_rule
from orchestrator.grammars.patterns import Untranslatable, pattern_expression
from tests.grammars.gbnf import Gbnf

PATTERNS = [
    "^abc$",
    "^a|b$",
    "^(a|b)$",
    "abc",
    "^$",
    "^a*b+c?$",
    "^[a-c0-9_]{2,3}$",
    "^[^a-c]{2}$",
    r"^\d{3}-\d{4}$",
    r"^\w+@\w+\.(com|org)$",
    r"^[\w.-]+$",
    r"\S",
    r"^\s*$",
    r"^[^\s\"]+$",
    r'^"[^"]*"$',
    r"^\\[\]\-x]$",
    r"^(?:ab|cd)+e{2}$",
    r"^a{2,}?b*?$",
    "^.+$",
    r"^\x41\u0042é$",
    r"^[\x00-\x1f]\t\n$",
    "^a.{0,3}c$",
    "^(a(b(c)?)?)?$",
    r"^\$\^\.\*$",
    "^[a-]+$",
    "^[+-]?[0-9]+$",
]


def grammar_of(pattern: str) -> Gbnf:
    book = RuleBook()
    book.define(book.reserve("root"), rf'"\"" {pattern_expression(pattern, "char")} "\""')
    json_rule(book, "char")
    return Gbnf(book.text())


BLANKS = r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
TRANSLATIONS = {r"\$": r"\$", "$": r"\Z", r"[^\s": f"[^{BLANKS}", r"\s": f"[{BLANKS}]", r"\S": f"[^{BLANKS}]"}


def found(pattern: str, text: str) -> bool:
    """Whether a pattern, which is JavaScript's, is found in a text."""
    for_python = re.sub(r"\\\$|\$|\[\^\\s|\\s|\\S", lambda match: TRANSLATIONS[match[0]], pattern)
    return re.search(for_python, text, re.ASCII) is not None


TEXTS = st.text('abcdex019_-+.@ "\\\n\té$^*[]AB', max_size=8) | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=5
)
"""Without control characters, which JSON writes as codes, and without line ends that Python knows not of."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_accepted_matches(pattern: str) -> None:
    grammar, source = grammar_of(pattern), random.Random(pattern)
    for _ in range(50):
        text = json.loads(grammar.draw(source))
        assert found(pattern, text), text


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS)
def test_a_text_is_accepted_if_it_matches(pattern: str, text: str) -> None:
    assert grammar_of(pattern).accepts(json.dumps(text, ensure_ascii=False)) == found(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "^a]?$",
        r"^\bword$",
        r"^(a)\1$",
        "^(?=a)b$",
        "^(?<name>a)$",
        r"^\p{L}+$",
        "^a^b$",
        "^(a$|b)$",
        "^(a$",
        "^a)$",
        "^[a$",
        "^a{3,2}$",
        "^a{2001}$",
        "^*a$",
        "^a**$",
        "^(a*)*$",
        "^(a?){3}$",
        "^((a{1,100}){1,100}){1,100}$",
        "^[z-a]$",
        r"^[\d-z]$",
        r"^\ud800$",
        "^[]$",
        "\\",
        "(" * 30 + "a" + ")" * 30,
        "a" * 3000,
    ],
)
def test_a_pattern_that_a_grammar_cannot_say_is_left_out(pattern: str) -> None:
    with pytest.raises(Untranslatable):
        pattern_expression(pattern, "char")
