"""Tool definitions: what of the wrong type is refused, and what an absent or null member is."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.tools import InvalidTool, parse_tools, tool_json


def with_property(schema: Any) -> list[Any]:
    return [with_parameters({"type": "object", "properties": {"p": schema}})]


def with_parameters(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


EMPTY_OF_THE_WRONG_TYPE = ("", 0, False)


@pytest.mark.parametrize("key", ["anyOf", "enum", "required", "properties"])
@pytest.mark.parametrize("value", [*EMPTY_OF_THE_WRONG_TYPE, "x", 5, True])
def test_a_value_of_the_wrong_type_is_refused_though_it_be_empty(key: str, value: Any) -> None:
    with pytest.raises(InvalidTool):
        parse_tools(with_property({key: value}))
    if key in ("required", "properties"):
        with pytest.raises(InvalidTool):
            parse_tools([with_parameters({key: value})])


@pytest.mark.parametrize(
    ("key", "value"), [("anyOf", {}), ("enum", {}), ("required", {}), ("properties", [])]
)
def test_a_list_is_no_object_and_an_object_no_list(key: str, value: Any) -> None:
    with pytest.raises(InvalidTool):
        parse_tools(with_property({key: value}))


@pytest.mark.parametrize("tool", [5, "x", True, [], {"function": []}, {"type": 5}, with_parameters([])])
def test_a_tool_is_an_object_of_objects(tool: Any) -> None:
    with pytest.raises(InvalidTool):
        parse_tools([tool])


@pytest.mark.parametrize("schema", [True, "x", [], 5])
def test_a_property_is_an_object(schema: Any) -> None:
    with pytest.raises(InvalidTool):
        parse_tools(with_property(schema))


@pytest.mark.parametrize("key", ["anyOf", "enum", "required", "properties", "description", "items"])
def test_null_is_as_good_as_nothing(key: str) -> None:
    assert parse_tools(with_property({key: None})) == parse_tools(with_property({}))


@pytest.mark.parametrize("tool", [None, {}, {"function": None}])
def test_what_is_always_written_is_written_of_an_empty_tool(tool: Any) -> None:
    assert [tool_json(parsed) for parsed in parse_tools([tool])] == [
        {"type": "", "function": {"name": "", "parameters": {"type": "", "properties": None}}}
    ]


def test_names_of_members_match_in_any_case_and_names_of_properties_are_the_clients() -> None:
    properties = {"Type": {"Type": "string", "ENUM": ["a"], "AnyOf": [{"TYPE": "null"}]}, "type": {}}
    parameters = {"TYPE": "object", "Properties": properties, "Required": ["Type"], "$DEFS": {"X": {}}}
    [tool] = parse_tools([{"Type": "function", "Function": {"NAME": "f", "parameters": parameters}}])
    assert tool_json(tool) == {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "$defs": {"X": {}},
                "required": ["Type"],
                "properties": {
                    "Type": {"anyOf": [{"type": "null"}], "type": "string", "enum": ["a"]},
                    "type": {},
                },
            },
        },
    }
