"""References in the parameters of tools."""

from __future__ import annotations

import time
from typing import Any

import pytest

from orchestrator.domain.references import MOST_SCHEMAS, has_references, resolved
from orchestrator.domain.tools import parse_tool, resolved_tool, tool_json

FILTER = {"type": "object", "properties": {"name": {"type": "string"}}}


def properties(property: Any, **definitions: Any) -> Any:
    """What becomes of a property called ``p``."""
    schema = {"type": "object", "properties": {"p": property}, "$defs": definitions}
    return resolved(schema)["properties"]["p"]


# case B046
@pytest.mark.parametrize(
    ("property", "found"),
    [
        ({"$ref": "#/$defs/F"}, FILTER),
        ({"$ref": "#/$defs/F", "description": "which"}, {**FILTER, "description": "which"}),
        ({"$ref": "#/$defs/G"}, FILTER),
        ({"type": "array", "items": {"$ref": "#/$defs/F"}}, {"type": "array", "items": FILTER}),
        ({"anyOf": [{"$ref": "#/$defs/F"}, {"type": "null"}]}, {"anyOf": [FILTER, {"type": "null"}]}),
        ({"allOf": [{"$ref": "#/$defs/F"}], "description": "d"}, {**FILTER, "description": "d"}),
        ({"$ref": "#/$defs/a~1b%20c"}, {"type": "string"}),
        ({"$ref": "#/$defs/L/anyOf/1"}, {"type": "boolean"}),
        ({"$ref": "#/$defs/nothing"}, {"type": "object"}),
        ({"$ref": "https://elsewhere.example/schema"}, {"type": "object"}),
        ({"$ref": 5}, {"type": "object"}),
        ({"type": "string", "enum": [{"$ref": "x"}]}, {"type": "string", "enum": [{"$ref": "x"}]}),
    ],
)
def test_a_reference_is_what_it_refers_to(property: Any, found: Any) -> None:
    definitions = {
        "F": FILTER,
        "G": {"$ref": "#/$defs/F"},
        "a/b c": {"type": "string"},
        "L": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
    }
    assert properties(property, **definitions) == found


def test_older_names_of_definitions_are_known() -> None:
    schema = {"properties": {"p": {"$ref": "#/definitions/F"}}, "definitions": {"F": FILTER}}
    assert resolved(schema) == {"properties": {"p": FILTER}}


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {
        "properties": {"allOf": {"$ref": "#/$defs/F"}, "enum": {"$ref": "#/$defs/F"}},
        "$defs": {"F": FILTER},
    }
    assert resolved(schema)["properties"] == {"allOf": FILTER, "enum": FILTER}


def test_what_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
    assert properties({"$ref": "#/$defs/N"}, N=node) == {
        "type": "object",
        "properties": {"next": {"type": "object"}},
    }
    assert properties({"$ref": "#/$defs/A"}, A={"$ref": "#/$defs/B"}, B={"$ref": "#/$defs/A"}) == {
        "type": "object"
    }
    assert properties({"$ref": "#"})["type"] == "object"


def test_what_would_grow_beyond_measure_is_cut() -> None:
    bomb = {
        f"D{i}": {"properties": {f"p{j}": {"$ref": f"#/$defs/D{i + 1}"} for j in range(10)}}
        for i in range(30)
    }
    started = time.perf_counter()
    found = properties({"$ref": "#/$defs/D0"}, **bomb)
    assert time.perf_counter() - started < 2
    pending, count = [found], 0
    while pending:
        schema = pending.pop()
        count += 1
        pending += schema.get("properties", {}).values()
    assert count < 20 * MOST_SCHEMAS


def test_only_what_has_references_is_looked_at() -> None:
    plain = parse_tool({"function": {"name": "f", "parameters": {"type": "object", "$defs": {"A": {}}}}})
    assert not has_references({"properties": {"p": {"type": "string"}}})
    assert resolved_tool(plain) is plain


def test_a_tool_is_resolved_for_the_prompt_and_kept_for_the_record() -> None:
    parameters = {"type": "object", "properties": {"filter": {"$ref": "#/$defs/F"}}, "$defs": {"F": FILTER}}
    tool = parse_tool({"type": "function", "function": {"name": "find", "parameters": parameters}})
    assert tool_json(tool)["function"]["parameters"]["properties"] == {"filter": {}}
    assert tool_json(resolved_tool(tool))["function"]["parameters"] == {
        "type": "object",
        "properties": {"filter": FILTER},
    }
