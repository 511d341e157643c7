"""Calls that are JSON objects."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.parsers.call_objects import call_of_object


@pytest.mark.parametrize(
    ("found", "arguments"),
    [
        ({"name": "f", "arguments": {"a": 1}}, {"a": 1}),
        ({"name": "f"}, {}),
        ({"name": "f", "arguments": None}, {}),
        ({"name": "f", "arguments": '{"a": 1}'}, {"a": 1}),  # decided case: arguments as a string
        ({"name": "f", "arguments": "a"}, None),
        ({"name": "f", "arguments": [1]}, None),
        ({"name": " ", "arguments": {}}, None),
        ({"name": 1, "arguments": {}}, None),
        ({"arguments": {}}, None),
        (None, None),
    ],
)
def test_an_object_with_a_name_and_arguments_is_a_call(
    found: dict[str, Any] | None, arguments: dict[str, Any] | None
) -> None:
    call = call_of_object(found)
    assert (call and call.arguments) == arguments
