"""The parser for models without a named one: thoughts and calls between the tags of their template.

Source: ``parsers`` §1.2, §7, §8.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.parsers.base import Parsed, Parser
from orchestrator.parsers.generic_thinking import GenericThinkingParser
from orchestrator.parsers.generic_tools import GenericToolParser, tool_tag_token
from orchestrator.parsers.passthrough import PassthroughParser


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

    def start(
        self, tools: Sequence[Tool], last_message: Message | None, think: Think | None
    ) -> tuple[Tool, ...]:
        """Prepare for one output. Returns the tools as the prompt shall name them."""
        wanted: list[Parser] = []
        if self._thinking is not None and think is not None and think.on:
            wanted.append(self._thinking)
        if self._tools is not None and tools:
            wanted.append(self._tools)
        else:
            self.preserved_tokens = ()
        self._first, self._second = (*wanted, *[PassthroughParser() for _ in range(2)])[:2]
        for stage in (self._first, self._second):
            stage.start(tools, last_message, think)
        self._has_two_stages = len(wanted) == 2
        return tuple(tools)

    def feed(self, text: str) -> Parsed:
        """Take the next piece of output."""
        parsed = self._first.feed(text)
        if self._has_two_stages and parsed.content:
            found = self._second.feed(parsed.content)
            return Parsed(found.content, parsed.thinking, found.calls)
        return parsed

    def close(self) -> Parsed:
        """The output has ended: give what was held back."""
        parsed = self._first.close()
        if not self._has_two_stages:
            return parsed
        found, last = self._second.feed(parsed.content), self._second.close()
        return Parsed(found.content + last.content, parsed.thinking, found.calls + last.calls)
