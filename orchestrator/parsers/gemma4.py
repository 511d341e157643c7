"""``gemma4`` and ``gemma4-no-thinking``: ``call:NAME{key:value,…}`` between tags, thoughts in a channel.

Source: ``parsers`` §5.13.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.gemma4_arguments import DELIMITER, read_arguments, repaired_arguments
from orchestrator.parsers.output import Sink
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Flow, Opening, SkipBlank
from orchestrator.parsers.text import Tags, trim

CHANNEL, CHANNEL_CLOSE = "<|channel>", "<channel|>"
TOOL_OPEN, TOOL_CLOSE = "<|tool_call>", "<tool_call|>"
TOOL_RESPONSE = "<|tool_response>"
CHANNEL_NAME = "thought\n"
CALL = "call:"

_CONTENT_END = Tags(CHANNEL, TOOL_OPEN)
_THOUGHT_END = Tags(CHANNEL_CLOSE)
_CLOSE = Tags(TOOL_CLOSE)


class Gemma4Parser(ScriptedParser):
    """Content, thoughts and calls in any order. Thoughts nobody asked for are dropped."""

    preserved_tokens = (CHANNEL, CHANNEL_CLOSE, TOOL_OPEN, TOOL_CLOSE, TOOL_RESPONSE, DELIMITER)
    keeps_end = True
    shows_thinking = True

    def script(self) -> Script[None]:
        last = self.last_message
        shows = self.shows_thinking and self.think_is_on
        if shows and last is not None and last.role == "tool":
            yield from self.thought(self.out.thinking)
        while True:
            yield (text := self.content(_CONTENT_END))
            if text.tag is None:
                return
            if text.tag == CHANNEL:
                yield Opening(CHANNEL_NAME)
                yield from self.thought(self.out.thinking if shows else self.out.dropped)
            elif (yield from self.block(TOOL_OPEN, text.blank, _CLOSE, self.read)):
                yield from self.noise_after_call()

    def thought(self, sink: Sink) -> Script[None]:
        """A thought whose channel is open."""
        yield Flow(sink, _THOUGHT_END, careful=True)
        yield SkipBlank()

    def noise_after_call(self) -> Script[None]:
        """Tags that the model writes behind a call for no reason, and white space."""
        while True:
            yield (noise := Opening(TOOL_CLOSE, TOOL_RESPONSE, after_blank=True))
            if noise.tag is None:
                break
        yield SkipBlank()

    def read(self, text: str, finished: bool) -> Sequence[ToolCall]:
        """The call in a block. An unfinished one is not repaired."""
        head, brace, arguments = trim(text).partition("{")
        name = trim(head.removeprefix(CALL))
        if not (brace and name and head.startswith(CALL)):
            return ()
        written = brace + arguments
        values = repaired_arguments(written, name, self.tools) if finished else read_arguments(written)
        return () if values is None else (ToolCall(name, values),)


class Gemma4NoThinkingParser(Gemma4Parser):
    """The same for models that are not meant to think."""

    shows_thinking = False
