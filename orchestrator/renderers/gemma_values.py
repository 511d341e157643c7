"""Values and schemas in the notation of Google's Gemma models: no quotes but tokens around strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain import prompt_json


@dataclass(frozen=True, slots=True)
class Notation:
    """How a model of the family writes strings and nothing."""

    quote: str
    null: str

    def text(self, value: str) -> str:
        """A string between its tokens."""
        return f"{self.quote}{value}{self.quote}"

    def value(self, value: Any) -> str:
        """Any JSON value; members of objects in the order of their names, which stand bare."""
        match value:
            case str():
                return self.text(value)
            case None:
                return self.null
            case list() | tuple():
                return f"[{','.join(map(self.value, value))}]"
            case Mapping():
                return f"{{{self.members(value)}}}"
            case _:
                return prompt_json.scalar(value)

    def members(self, values: Mapping[str, Any]) -> str:
        """Members of an object without the braces."""
        return ",".join(f"{name}:{self.value(values[name])}" for name in sorted(values))

    def texts(self, values: Any) -> str:
        """A list of strings."""
        return f"[{','.join(map(self.text, values))}]"
