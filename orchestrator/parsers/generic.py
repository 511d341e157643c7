"""The parser for models without a named one: thoughts and calls between the tags of their template.

Source: ``parsers`` §1.2, §7, §8.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.parsers.base import NOTHING, Parsed, Parser
from orchestrator.parsers.generic_thinking import GenericThinkingParser
from orchestrator.parsers.generic_tools import GenericToolParser, tool_tag_token
from orchestrator.parsers.passthrough import PassthroughParser
from orchestrator.parsers.scripted import ScriptedParser


def generic_parser(
    *, thinking_tags: tuple[str, str] | None, tool_tag: str | None, prompt_ends_in_thought: bool
) -> Parser:
    """A parser for these tags; ``None`` means that the model has none.

    Thoughts are split off only for a request that wants thinking, calls only for one with tools.
    """
    return GenericParser(thinking_tags, tool_tag, prompt_ends_in_thought=prompt_ends_in_thought)


class GenericParser:
    """First thoughts, then calls in what remains."""

    def __init__(
        self, thinking_tags: tuple[str, str] | None, tool_tag: str | None, *, prompt_ends_in_thought: bool
    ) -> None:
        self.preserved_tokens = tool_tag_token(tool_tag) if tool_tag else ()
        self._thinking = (
            GenericThinkingParser(*thinking_tags, inside=prompt_ends_in_thought) if thinking_tags else None
        )
        self._tools = GenericToolParser(tool_tag) if tool_tag else None
        self._first: ScriptedParser | None = None
        """The thinking parser, until the thought is over."""
        self._second: ScriptedParser = PassthroughParser()

    def start(
        self, tools: Sequence[Tool], last_message: Message | None, think: Think | None
    ) -> tuple[Tool, ...]:
        """Prepare for one output. Returns the tools as the prompt shall name them."""
        self._first = self._thinking if think is not None and think.on else None
        if self._first is not None:
            self._first.start(tools, last_message, think)
        if self._tools is not None and tools:
            self._second = self._tools
        else:
            self._second, self.preserved_tokens = PassthroughParser(), ()
        self._second.start(tools, last_message, think)
        return tuple(tools)

    def feed(self, text: str) -> Parsed:
        """Take the next piece of output."""
        if self._first is None:
            return self._second.feed(text)
        thought = self._first.feed(text)
        if self._first.is_over:
            self._first = None
        if not thought.content:
            return thought
        found = self._second.feed(thought.content)
        return Parsed(found.content, thought.thinking, found.calls)

    def close(self) -> Parsed:
        """The output has ended: give what was held back."""
        thought = self._first.close() if self._first is not None else NOTHING
        found, last = self._second.feed(thought.content), self._second.close()
        return Parsed(found.content + last.content, thought.thinking, found.calls + last.calls)
