"""Whether a model shall call tools, and which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orchestrator.domain.tools import Tool
from orchestrator.errors import BadRequest


class InvalidToolChoice(BadRequest):
    """A ``tool_choice`` that is none, or that the tools of the request cannot meet."""


class ToolUse(StrEnum):
    """Who decides whether tools are called."""

    AUTO = "auto"
    """The model."""
    NONE = "none"
    """The client: no tool is called, none is shown to the model."""
    REQUIRED = "required"
    """The client: the answer is calls and nothing else."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What the client wants of the tools it sends."""

    use: ToolUse = ToolUse.AUTO
    name: str | None = None
    """The only tool that may be called; goes with ``REQUIRED``."""
    parallel: bool = True
    """Whether there may be more than one call."""

    @property
    def is_forced(self) -> bool:
        """Whether there has to be a call."""
        return self.use is ToolUse.REQUIRED

    @property
    def allows_several(self) -> bool:
        """Whether a forced answer may hold more than one call; one named tool is called once."""
        return self.parallel and self.name is None

    def callable_tools(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """Those of ``tools`` that may be called. Raises ``InvalidToolChoice`` if a forced call has none."""
        if self.use is ToolUse.NONE:
            return ()
        found = tuple(tool for tool in tools if self.name in (None, tool.function.name))
        if self.is_forced and not found:
            raise InvalidToolChoice(
                'tool_choice "required" needs tools'
                if self.name is None
                else f'tool_choice names the tool "{self.name}", which is not among the tools'
            )
        return found


AUTO = ToolChoice()


def parse_tool_choice(value: Any, *, parallel: bool = True) -> ToolChoice:
    """Read a ``tool_choice``: a word, or an object that names a tool. Raises ``InvalidToolChoice``."""
    match value:
        case None:
            return ToolChoice(parallel=parallel)
        case "auto" | "none" | "required":
            return ToolChoice(ToolUse(value), parallel=parallel)
        case {"type": "function", "function": {"name": str(name)}} | {"type": "function", "name": str(name)}:
            return ToolChoice(ToolUse.REQUIRED, name, parallel=parallel)
        case _:
            raise InvalidToolChoice(
                'tool_choice must be "auto", "none", "required" '
                'or {"type": "function", "function": {"name": …}}'
            )
