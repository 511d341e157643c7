"""Arguments of tool calls: an object in the domain, a string of JSON on this dialect's wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.wire.json import MalformedJson, dumps, loads_all


def parse_arguments(text: str) -> dict[str, Any]:
    """The object in ``text``; ``null`` is no arguments. Raises ``ValueError`` for anything else.

    The whole text counts, unlike in a body of a request; integers stay exact, keys keep their order.
    """
    try:
        value = loads_all(text)
    except MalformedJson as error:
        raise ValueError(str(error)) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("arguments are no JSON object")
    return value


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """``arguments`` as they are written."""
    return dumps(arguments).decode()
