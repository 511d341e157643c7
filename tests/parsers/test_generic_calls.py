"""Which objects are calls."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.parsers.declared import DeclaredTools
from orchestrator.parsers.generic_calls import calls_in, first_name
from tests.parsers.families import TOOLS

DECLARED = DeclaredTools(TOOLS)


@pytest.mark.parametrize(
    ("found", "calls"),
    [
        ({"name": "get", "arguments": {"b": 1}}, [("get", {"b": 1})]),
        ({"tool_name": "get", "parameters": '{"b": 1}'}, [("get", {"b": 1})]),
        ({"name": "get"}, [("get", {})]),
        ({"name": "get", "arguments": 1}, []),
        ({"name": "Bob", "get": {}}, []),
        ({"name": {"first": "Bob"}}, []),
        ({"get": {"b": 1}}, [("get", {"b": 1})]),
        ({"x": {"get": {}}, "y": [{"name": "note"}, 1]}, [("get", {}), ("note", {})]),
        ({"x": 1, "y": [{"z": "get"}]}, None),
    ],
)
def test_names_in_an_object_decide(
    found: dict[str, Any], calls: list[tuple[str, dict[str, Any]]] | None
) -> None:
    made = calls_in(found, DECLARED)
    assert (made if made is None else [(call.name, call.arguments) for call in made]) == calls


def test_the_first_and_longest_name_counts() -> None:
    assert first_name("so get_all or note", DECLARED) == ("get_all", 3)
    assert first_name("nothing", DECLARED) is None
