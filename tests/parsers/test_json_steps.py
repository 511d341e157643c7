"""Steps that read objects, whole and in characters."""

from __future__ import annotations

import pytest

from orchestrator.parsers.json_steps import JsonObject, Remainder
from orchestrator.parsers.text import NO_TAGS, Tags
from tests.parsers.test_steps import cuts, run


@pytest.mark.parametrize(
    ("text", "found", "left"),
    [
        ('"a":{"b":[1]}} tail', {"a": {"b": [1]}}, " tail"),
        ("x} tail", None, "x} tail"),
        ('"a":1e999} tail', None, " tail"),
        ('"a":1', None, ""),
    ],
)
def test_an_object_is_found_or_its_text_is_kept(text: str, found: object, left: str) -> None:
    for pieces in cuts(text):
        step = JsonObject()
        assert run(step, pieces) == left
        assert step.found == found
        assert step.text == "{" + text[: len(text) - len(left)]


def test_an_object_with_a_refused_member_ends_there() -> None:
    for pieces in cuts('"x":{"name":"Bob"},"name":"Bob","age":3} tail'):
        step = JsonObject(lambda member, text: (member, text) == ("name", "Bob"))
        assert run(step, pieces) == ',"age":3} tail'
        assert (step.text, step.found) == ('{"x":{"name":"Bob"},"name":"Bob"', None)


def test_an_unfinished_object_reaches_to_the_next_tag() -> None:
    for pieces in cuts('"a":"x<t>y'):
        step = JsonObject(resume_at=Tags("<t>"))
        assert run(step, pieces) == "<t>y"
        assert step.text == '{"a":"x'


@pytest.mark.parametrize(
    ("text", "read", "tag", "left"),
    [
        ("a { b } c } d", "a { b } c }", None, " d"),
        ('"}" d', '"}', None, '" d'),
        ("a <t> }", "a ", "<t>", " }"),
        ("a <t", "a <t", None, ""),
    ],
)
def test_the_remainder_ends_with_the_braces_or_at_a_tag(
    text: str, read: str, tag: str | None, left: str
) -> None:
    for pieces in cuts(text):
        step = Remainder(1, Tags("<t>"))
        assert run(step, pieces) == left
        assert (step.text, step.tag) == (read, tag)


def test_the_remainder_needs_no_tags() -> None:
    step = Remainder(2, NO_TAGS)
    assert run(step, ["x } } y"]) == " y"
