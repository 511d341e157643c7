"""``qwen3``, ``qwen3-thinking`` and ``qwen3-vl``: calls are JSON objects between tags.

Source: ``parsers`` §5.3, §5.4.
"""

from __future__ import annotations

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.call_objects import call_of_object
from orchestrator.parsers.json_text import json_object
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import SkipBlank
from orchestrator.parsers.text import Tags, trim

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
TOOL_OPEN, TOOL_CLOSE = "<tool_call>", "</tool_call>"

_END_OF_THOUGHT = Tags(THINK_CLOSE, TOOL_OPEN)
_CLOSE = Tags(TOOL_CLOSE)


class Qwen3Parser(ScriptedParser):
    """Content with calls in it."""

    preserved_tokens: tuple[str, ...] = (THINK_OPEN, THINK_CLOSE, TOOL_OPEN, TOOL_CLOSE)

    def script(self) -> Script[None]:
        yield from self.blocks(TOOL_OPEN, _CLOSE, read_calls)


class Qwen3ThinkingParser(Qwen3Parser):
    """The same after a thought, which the prompt has opened; the model may repeat the tag."""

    repeats_opening = True

    def script(self) -> Script[None]:
        if self.think_is_off:
            yield from super().script()
            return
        if self.repeats_opening:
            yield from self.drop_opening(THINK_OPEN)
        yield (thought := self.thinking(_END_OF_THOUGHT))
        if thought.tag == THINK_CLOSE:
            yield SkipBlank()
        yield from self.blocks(TOOL_OPEN, _CLOSE, read_calls, opened=thought.tag == TOOL_OPEN)


class Qwen3VlParser(Qwen3Parser):
    """``qwen3-vl-instruct``."""

    preserved_tokens = (THINK_CLOSE, TOOL_OPEN, TOOL_CLOSE)


class Qwen3VlThinkingParser(Qwen3ThinkingParser):
    """``qwen3-vl-thinking``."""

    preserved_tokens = (THINK_CLOSE, TOOL_OPEN, TOOL_CLOSE)
    repeats_opening = False


def read_calls(text: str, finished: bool) -> tuple[ToolCall, ...]:
    """The call that is all of ``text``."""
    call = call_of_object(json_object(trim(text)))
    return (call,) if call else ()
