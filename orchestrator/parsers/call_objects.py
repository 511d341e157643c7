"""Calls written as JSON objects with the members ``name`` and ``arguments``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.json_text import json_object
from orchestrator.parsers.text import trim


def call_of_object(
    found: Mapping[str, Any] | None, *, name: str = "name", arguments: str = "arguments"
) -> ToolCall | None:
    """The call that a JSON object stands for, if there is one with a name and an object of arguments."""
    if found is None:
        return None
    called, values = found.get(name), argument_object(found.get(arguments))
    if isinstance(called, str) and trim(called) and values is not None:
        return ToolCall(called, values)
    return None


def argument_object(found: Any) -> Mapping[str, Any] | None:
    """Arguments as an object: absent ones are none, a string may hold the object. ``None`` for all else."""
    match found:
        case None:
            return {}
        case str():
            return json_object(found)
        case dict():
            return found
        case _:
            return None
