"""What an output parser is: one object per request, fed with text as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool


class Parsed(NamedTuple):
    """What one piece of output turned out to be; any part may be empty. Made once per token, so it is cheap
    to make."""

    content: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()


NOTHING = Parsed()


class Parser(Protocol):
    """Splits a model's output into content, thinking and tool calls.

    Any split of the same text gives the same sums; no text is lost; nothing is raised for odd output.
    """

    @property
    def preserved_tokens(self) -> tuple[str, ...]:
        """Special tokens the engine must hand over as text."""

    def start(
        self, tools: Sequence[Tool], last_message: Message | None, think: Think | None
    ) -> tuple[Tool, ...]:
        """Prepare for one output. Returns the tools as the prompt shall name them."""

    def feed(self, text: str) -> Parsed:
        """Take the next piece of output."""

    def close(self) -> Parsed:
        """The output has ended: give what was held back."""


@dataclass(frozen=True, slots=True)
class ParserTraits:
    """What a named parser gives a model: capabilities, known without making one."""

    has_tools: bool
    has_thinking: bool
