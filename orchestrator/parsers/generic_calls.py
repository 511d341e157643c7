"""Calls in JSON objects of any shape: which objects are calls of which declared tools.

Source: ``parsers`` §8.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.call_objects import argument_object
from orchestrator.parsers.declared import DeclaredTools

NAME_MEMBERS = ("name", "tool_name")


def calls_in(found: Mapping[str, Any], tools: DeclaredTools) -> list[ToolCall] | None:
    """The calls an object stands for: itself, or the objects in it. ``None`` if it names nothing at all.

    An object with a name stands for that call alone; if no such tool is declared, for none. A member with the
    name of a tool stands for a call with that member as arguments.
    """
    calls = list(_calls_in(found, tools))
    return [call for call in calls if call is not None] if calls else None


def _calls_in(found: Mapping[str, Any], tools: DeclaredTools) -> Iterator[ToolCall | None]:
    """The calls, and a ``None`` for every object that names no tool, or one without usable arguments."""
    named = next((member for member in NAME_MEMBERS if member in found), None)
    if named is not None:
        name, arguments = found[named], argument_object(_arguments(found))
        is_known = isinstance(name, str) and name in tools
        yield ToolCall(name, arguments) if is_known and arguments is not None else None
        return
    keyed = [name for name in found if name in tools]
    for name in keyed:
        arguments = argument_object(found[name])
        yield ToolCall(name, arguments) if arguments is not None else None
    if not keyed:
        for inner in _inner_objects(found):
            yield from _calls_in(inner, tools)


def _arguments(found: Mapping[str, Any]) -> Any:
    arguments = found.get("arguments")
    return found.get("parameters") if arguments is None else arguments


def _inner_objects(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for member in found.values():
        for item in member if isinstance(member, list) else [member]:
            if isinstance(item, dict):
                yield item


def first_name(text: str, tools: DeclaredTools) -> tuple[str, int] | None:
    """The declared name that occurs first in ``text``, the longest of those at the same place, and where."""
    places = [(at, -len(name), name) for name in tools if (at := text.find(name)) >= 0]
    if not places:
        return None
    at, _, name = min(places)
    return name, at
