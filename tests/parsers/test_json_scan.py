"""Where objects end, and where they turn out to be none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.parsers.json_scan import ObjectScanner, balanced_objects

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=3), st.booleans(), st.sampled_from([None, 1]))
def test_every_object_is_read_to_its_end(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    whole, in_characters = ObjectScanner(), ObjectScanner()
    assert whole.feed(text + " tail}") == len(text)
    assert sum(in_characters.feed(char) for char in text + " tail}") == len(text)
    assert whole.closed
    assert in_characters.closed


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("{x}", 1),
        ("{'a': 1}", 1),
        ('{"a" 1}', 5),
        ('{"a":1,}', 7),
        ('{"a":[1,]}', 8),
        ('{"a":[}', 6),
        ('{"a":{"b"}}', 9),
        ('{"a":"x\ny"}', 7),
        (r'{"a":"\x"}', 7),
        ('{"a":True}', 5),
        ('{"a":1 "b"', 7),
        ("[1]", 0),
        ("x", 0),
    ],
)
def test_an_object_is_broken_where_no_object_can_go_on(text: str, read: int) -> None:
    whole = ObjectScanner()
    assert whole.feed(text) == read
    assert whole.broken
    in_characters = ObjectScanner()
    assert sum(in_characters.feed(char) for char in text) == read
    assert in_characters.broken


def test_nesting_has_an_end() -> None:
    scanner = ObjectScanner()
    scanner.feed('{"a":' + "[" * 1000)
    assert scanner.broken


def test_texts_of_the_outermost_object_are_shown_as_soon_as_they_are_read() -> None:
    seen: list[tuple[str, str]] = []

    def refuses(member: str, text: str) -> bool:
        seen.append((member, text))
        return False

    scanner = ObjectScanner(refuses)
    scanner.feed('{"x":{"name":"inner"},"name":"no')
    assert seen == []
    scanner.feed('te\\u0021","y":"')
    assert seen == [("name", "note!")]


def test_braces_in_strings_do_not_count() -> None:
    assert list(balanced_objects('[{"a":"}{"} {"b":{}}, {"c"')) == ['{"a":"}{"}', '{"b":{}}']
