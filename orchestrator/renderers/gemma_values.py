"""Values and schemas in the notation of Google's Gemma models: no quotes but tokens around strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.tools import Parameters, Property


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

    def parameters(self, parameters: Parameters, write: Callable[[Mapping[str, Property]], str]) -> str:
        """What declares the parameters of a function; ``write`` does so with their properties."""
        if parameters.properties is None and not parameters.type:
            return ""
        parts: list[str] = []
        if parameters.properties:
            parts.append(f"properties:{{{write(parameters.properties)}}}")
        if parameters.required:
            parts.append(f"required:{self.texts(parameters.required)}")
        if parameters.type:
            parts.append(f"type:{self.text(parameters.type.upper())}")
        return f",parameters:{{{','.join(parts)}}}"

    def texts(self, values: Any) -> str:
        """A list of strings."""
        return f"[{','.join(map(self.text, values))}]"
