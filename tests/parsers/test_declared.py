"""Declared tools."""

from __future__ import annotations

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.tools import parse_tools
from orchestrator.parsers.declared import DeclaredTools

TOOLS = DeclaredTools(
    parse_tools(
        [
            {
                "function": {
                    "name": "note",
                    "parameters": {
                        "properties": {
                            "text": {"type": "string"},
                            "ref": {"anyOf": [{"type": "integer"}, {"type": ["string", "null"]}]},
                            "any": {},
                        },
                        "required": ["text"],
                    },
                }
            },
            {"function": {"name": "note"}},
            {"function": {"name": ""}},
        ]
    )
)


def test_types_are_those_of_the_property_or_its_branches() -> None:
    assert TOOLS.types("note", "text") == ("string",)
    assert TOOLS.types("note", "ref") == ("integer", "string", "null")
    assert TOOLS.types("note", "any") == TOOLS.types("note", "x") == TOOLS.types("x", "text") == ()


def test_the_first_tool_of_a_name_counts_and_none_without() -> None:
    assert list(TOOLS) == ["note"]
    assert TOOLS.parameters("note") == ["text", "ref", "any"]
    assert TOOLS.strings("note") == ["text", "ref"]


def test_required_arguments_are_known_of_declared_tools_only() -> None:
    assert TOOLS.has_required(ToolCall("note", {"text": None}))
    assert not TOOLS.has_required(ToolCall("note", {}))
    assert TOOLS.has_required(ToolCall("other", {}))


def test_a_name_at_the_end_may_be_the_beginning_of_another() -> None:
    assert TOOLS.is_cut_name("no", "a call of no")
    assert not TOOLS.is_cut_name("no", "no {}")
    assert not TOOLS.is_cut_name("note", "note")
    assert not TOOLS.is_cut_name("notes", "notes")
