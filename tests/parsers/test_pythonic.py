"""Calls written like Python."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.parsers.pythonic import Dialect, Malformed, read_call, split

STRICT = Dialect(
    words={"True": True, "None": None},
    escapes={"n": "\n", "'": "'"},
    unicode_escapes=True,
    digit_gaps=True,
    json_collections=True,
)
LOOSE = Dialect(words={"nil": None}, escapes={}, bare_items=True, empty_values=True)


def test_only_separators_outside_quotes_and_brackets_split() -> None:
    assert split("a, 'b, \\' c', [d, {e, f}], g(h, i)") == ["a", " 'b, \\' c'", " [d, {e, f}]", " g(h, i)"]


@pytest.mark.parametrize("text", ["'a", "(a", "a)", "[a)", 'it"s'])
def test_a_quote_or_bracket_needs_its_partner(text: str) -> None:
    with pytest.raises(Malformed):
        split(text)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'it\\'s\\n \\x'", "it's\n \\x"),
        (r"'\u00e9\ud83c\udf0d\ud83c'", "é🌍\ufffd"),
        ("True", True),
        ("1_000", 1000),
        ("007", 7),
        ("0x10", "0x10"),
        ("1.5e1", 15.0),
        ("inf", "inf"),
        ("[1, 'a', [None]]", [1, "a", [None]]),
        ('["a\\/b", null]', ["a/b", None]),
        ("{'k': True, 1: 'x:y',}", {"k": True, "1": "x:y"}),
        ("[]", []),
        ("[oops]", "[oops]"),
        ("{'k'}", "{'k'}"),
        ("two words", "two words"),
        ("'a' 'b'", "'a' 'b'"),
    ],
)
def test_values_of_a_strict_dialect(written: str, value: Any) -> None:
    assert read_call(f"f(a={written})", STRICT).arguments == {"a": value}


@pytest.mark.parametrize(
    ("written", "value"),
    [("[a b, nil]", ["a b", None]), ("{k: v, 'q': [1]}", {"k": "v", "q": [1]}), ("1_000", "1_000"), ("", "")],
)
def test_values_of_a_loose_dialect(written: str, value: Any) -> None:
    assert read_call(f"f(a={written}, b=1)", LOOSE).arguments == {"a": value, "b": 1}


@pytest.mark.parametrize(
    "text", ["f", "f(", "f(1)", "f('a=b')", "f(a=)", "(a=1)", "f g(a=1)", "f(a=1) x", "f(a)(b=1)", "f(a=1,,)"]
)
def test_what_is_no_call_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        read_call(text, STRICT)


def test_deep_nesting_is_text() -> None:
    deep = "[" * 5000 + "]" * 5000
    assert read_call(f"f(a={deep})", STRICT).arguments == {"a": deep}
