"""Text in quotes, and where messages hold such."""

from __future__ import annotations

import pytest

from orchestrator.domain.formats import InvalidFormat
from orchestrator.domain.names import InvalidReference, ModelReference
from orchestrator.domain.quoting import quoted
from orchestrator.domain.think import InvalidThink, Think

TEXTS = [
    ("plain", '"plain"'),
    ("", '""'),
    ('say "hi"', r'"say \"hi\""'),
    ("a\\b", r'"a\\b"'),
    ("a\tb\nc", r'"a\tb\nc"'),
    ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
    ("café ☕", '"café ☕"'),
    ("\u00a0\u2028", r'"\u00a0\u2028"'),
    ("\U000e0001", r'"\U000e0001"'),
]


@pytest.mark.parametrize(("text", "literal"), TEXTS)
def test_a_text_is_written_as_a_literal_of_go(text: str, literal: str) -> None:
    assert quoted(text) == literal


@pytest.mark.parametrize(("text", "literal"), TEXTS)
def test_a_refused_think_value_is_quoted(text: str, literal: str) -> None:
    with pytest.raises(InvalidThink) as refused:
        Think.parse(text)
    assert str(refused.value).startswith(f"invalid think value: {literal} (must be ")


def test_a_refused_reference_is_quoted() -> None:
    with pytest.raises(InvalidReference) as refused:
        ModelReference.parse(' a"b:local:cloud ')
    assert str(refused.value) == r'use either :local or :cloud, not both: "a\"b:local:cloud"'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("xml", r'"\"xml\""'),
        (True, '"true"'),
        ([], '"[]"'),
        (5, '"5"'),
        ("a\tb", r'"\"a\\tb\""'),
        ("\u00a0", r'"\"\u00a0\""'),
    ],
)
def test_a_refused_format_is_quoted_json(value: object, shown: str) -> None:
    assert str(InvalidFormat(value)).startswith(f"invalid format: {shown}; ")
