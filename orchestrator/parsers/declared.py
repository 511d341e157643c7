"""The tools a request declares, as parsers ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.tools import Parameters, Property, Tool


class DeclaredTools:
    """Declared tools by name. Of two with the same name the first counts."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._parameters: dict[str, Parameters] = {}
        for tool in tools:
            if tool.function.name:
                self._parameters.setdefault(tool.function.name, tool.function.parameters)

    def __contains__(self, name: str) -> bool:
        return name in self._parameters

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def is_cut_name(self, name: str, text: str) -> bool:
        """Whether ``name`` may be the beginning of a tool's longer name, for ``text`` was cut behind it."""
        return text.endswith(name) and any(other.startswith(name) and other != name for other in self)

    def types(self, tool: str, parameter: str) -> tuple[str, ...]:
        """The names of the types a parameter may have; none if it or the tool is unknown."""
        prop = self._properties(tool).get(parameter)
        return () if prop is None else types_of(prop)

    def strings(self, tool: str) -> list[str]:
        """The parameters of a tool that may be strings."""
        return [name for name, prop in self._properties(tool).items() if "string" in types_of(prop)]

    def parameters(self, tool: str) -> list[str]:
        """The names of a tool's parameters."""
        return list(self._properties(tool))

    def has_required(self, call: ToolCall) -> bool:
        """Whether a call has all required arguments. Of a tool that is not declared none is known."""
        parameters = self._parameters.get(call.name)
        return parameters is None or all(name in call.arguments for name in parameters.required)

    def _properties(self, tool: str) -> dict[str, Property]:
        parameters = self._parameters.get(tool)
        return dict(parameters.properties or {}) if parameters else {}


def types_of(prop: Property) -> tuple[str, ...]:
    """The types of a property, or those of all its branches."""
    if prop.any_of:
        return tuple(name for branch in prop.any_of for name in types_of(branch))
    return prop.types
