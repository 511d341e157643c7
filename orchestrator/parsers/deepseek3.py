"""``deepseek3`` and ``cogito``: blocks of calls between full-width tags.

Source: ``parsers`` §5.6, §5.7.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.json_text import json_object
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Block, Flow, SkipBlank
from orchestrator.parsers.text import Tags, trim

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
CALLS, CALLS_CLOSE = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL, CALL_CLOSE = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
SEPARATOR = "<｜tool▁sep｜>"
OUTPUT, OUTPUT_CLOSE = "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"
OUTPUTS, OUTPUTS_CLOSE = "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"

_THOUGHT_END = Tags(THINK_CLOSE, CALLS)
_GAP_END = Tags(CALL, CALLS_CLOSE)
_CALL_END = Tags(CALL_CLOSE, CALLS_CLOSE)
_FENCE = "```"
_NAME_AND_FENCE = re.compile(r"(?P<name>[^\n]*)\n```(json)?\n(?P<body>.*)\n```", re.DOTALL)


class DeepSeek3Parser(ScriptedParser):
    """Thoughts, content, and blocks of calls; outputs of tools that the model made up are content."""

    preserved_tokens: tuple[str, ...] = (
        THINK_CLOSE, CALLS, CALLS_CLOSE, CALL, CALL_CLOSE, SEPARATOR, OUTPUT, OUTPUT_CLOSE,
    )  # fmt: skip
    keeps_end = True
    outputs = OUTPUT
    may_think_unasked = True
    """Whether a thought that the model opens by itself is one, though it was told not to think."""

    def script(self) -> Script[None]:
        if (yield from self.thought()):
            yield from self.calls("")
        content_end = Tags(CALLS, self.outputs)
        while True:
            yield (text := self.content(content_end))
            if text.tag is None:
                return
            if text.tag == CALLS:
                yield from self.calls(text.blank)
            else:
                yield from self.made_up_output(text.blank)

    def thinks(self) -> bool:
        """Whether the prompt has opened a thought."""
        return self.think_is_on and not self.prefilled

    def thought(self) -> Script[bool]:
        """The thought, if there is one. Gives whether a block of calls has ended it."""
        if self.think_is_off and self.may_think_unasked:
            thinks = yield from self.drop_opening(THINK_OPEN)
        else:
            thinks = self.thinks()
        if not thinks:
            return False
        yield (thought := self.thinking(_THOUGHT_END))
        if thought.tag == THINK_CLOSE:
            yield SkipBlank()
        return thought.tag == CALLS

    def made_up_output(self, blank: str) -> Script[None]:
        """The output of a tool: its tags are dropped."""
        self.out.content.add(blank)
        yield Flow(self.out.content, Tags(OUTPUT_CLOSE))

    def calls(self, blank: str) -> Script[None]:
        """A block of calls, opened after ``blank``.

        A call that cannot be read is given back by itself; the whole block is if nothing else comes of it.
        """
        self.hold(blank)
        is_empty, after_call, body = True, False, None
        while body is None or body.tag == CALL_CLOSE:
            yield (gap := Block(_GAP_END))
            if gap.tag != CALL:
                yield from self.end_of_calls(gap, is_empty=is_empty, after_call=after_call)
                return
            yield (body := Block(_CALL_END))
            between = gap.text if trim(gap.text) or not after_call else ""
            if found := self.calls_of(body, _CALL_END, self.read):
                if trim(between):
                    self.give_back(between)
                self.drop_held()
                self.out.call(*found)
            else:
                opening = CALLS if is_empty and body.tag is None else ""
                close = CALL_CLOSE if body.tag == CALL_CLOSE else ""
                self.give_back(opening + between + CALL + body.text + close)
            is_empty, after_call = False, bool(found)
        if after_call:
            yield SkipBlank()

    def end_of_calls(self, gap: Block, *, is_empty: bool, after_call: bool) -> Script[None]:
        """What stands between the last call and the end of the block, or of the output."""
        if is_empty:
            self.give_back(CALLS + gap.text + (gap.tag or ""))
        elif after_call and CALLS_CLOSE.startswith(trim(gap.text)):
            yield SkipBlank()
        else:
            self.give_back(gap.text)

    def read(self, text: str, finished: bool) -> Sequence[ToolCall]:
        """The call between the tags of one."""
        name, separator, arguments = text.partition(SEPARATOR)
        return _call(name, _unfenced(trim(arguments))) if separator else ()


class CogitoParser(DeepSeek3Parser):
    """The same with other calls; it thinks only without tools, and what it makes up as output is dropped."""

    preserved_tokens = (*DeepSeek3Parser.preserved_tokens, OUTPUTS, OUTPUTS_CLOSE)
    outputs = OUTPUTS
    may_think_unasked = False

    def thinks(self) -> bool:
        return super().thinks() and not self.tools

    def made_up_output(self, blank: str) -> Script[None]:
        yield (output := Block(Tags(OUTPUTS_CLOSE)))
        if output.tag is None:
            self.give_back(blank + OUTPUTS + output.text)
        else:
            yield SkipBlank()

    def read(self, text: str, finished: bool) -> Sequence[ToolCall]:
        _, separator, call = text.partition(SEPARATOR)
        found = _NAME_AND_FENCE.fullmatch(trim(call)) if separator else None
        return _call(found["name"], found["body"]) if found else ()


def _call(name: str, arguments: str) -> tuple[ToolCall, ...]:
    values = json_object(trim(arguments))
    return (ToolCall(trim(name), values),) if trim(name) and values is not None else ()


def _unfenced(text: str) -> str:
    """``text`` without a Markdown fence around it."""
    inner = text.removeprefix(_FENCE).removesuffix(_FENCE)
    return inner.partition("\n")[2] if len(text) - len(inner) == 2 * len(_FENCE) else text
