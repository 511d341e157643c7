"""Constraints on the output: any JSON object, or a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.quoting import quoted
from orchestrator.errors import OrchestratorError


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """Any JSON object (``"format": "json"``)."""


@dataclass(frozen=True, slots=True)
class SchemaFormat:
    """JSON that fits a schema; the order of the schema's keys is the client's."""

    schema: Mapping[str, Any]


OutputFormat = JsonFormat | SchemaFormat


@dataclass(frozen=True, slots=True)
class UnknownFormat:
    """Some other JSON value: an error, but only once something is generated."""

    value: Any


class InvalidFormat(OrchestratorError):
    """A ``format`` that is neither ``"json"`` nor a schema (status 500 on the wire, as Ollama answers)."""

    def __init__(self, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        super().__init__(f'invalid format: {quoted(text)}; expected "json" or a valid JSON Schema object')


def usable_format(wanted: OutputFormat | UnknownFormat | None) -> OutputFormat | None:
    """The constraint for the engine. Raises ``InvalidFormat``."""
    if isinstance(wanted, UnknownFormat):
        raise InvalidFormat(wanted.value)
    return wanted


def parse_format(value: Any) -> OutputFormat | UnknownFormat | None:
    """Read the ``format`` of a native request; null and an empty text are none."""
    match value:
        case None | "":
            return None
        case "json":
            return JsonFormat()
        case dict():
            return SchemaFormat(value)
        case _:
            return UnknownFormat(value)
