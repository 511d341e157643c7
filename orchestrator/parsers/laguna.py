"""``laguna`` and ``poolside-v1``: calls between tags, in three forms, or as bare JSON.

Source: ``parsers`` §5.15.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.call_objects import call_of_object
from orchestrator.parsers.glm_elements import KEY, KEY_CLOSE, VALUE, VALUE_CLOSE
from orchestrator.parsers.json_steps import JsonObject
from orchestrator.parsers.json_text import json_object
from orchestrator.parsers.output import Sink
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Opening, SkipBlank
from orchestrator.parsers.text import BLANK, Tags, trim
from orchestrator.parsers.values import typed, unframed

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
TOOL_OPEN, TOOL_CLOSE = "<tool_call>", "</tool_call>"
USER_OPEN, USER_CLOSE = "<user>", "</user>"
BRACE = "{"

_THOUGHT_END = Tags(THINK_CLOSE, TOOL_OPEN)
_CONTENT_END = Tags(THINK_OPEN, TOOL_OPEN)
_CONTENT_END_WITH_TOOLS = Tags(THINK_OPEN, TOOL_OPEN, USER_OPEN, BRACE)
_CLOSE = Tags(TOOL_CLOSE)
_USER_CLOSE = Tags(USER_CLOSE)
_ALIASES = {"read_file": "read", "write_file": "write", "edit_file": "edit", "web_fetch": "webfetch"}


class PoolsideParser(ScriptedParser):
    """Thoughts, content and calls in any order. Thoughts nobody asked for are dropped."""

    preserved_tokens = (
        THINK_OPEN, THINK_CLOSE, TOOL_OPEN, TOOL_CLOSE, KEY, KEY_CLOSE, VALUE, VALUE_CLOSE,
        USER_OPEN, USER_CLOSE,
    )  # fmt: skip

    def script(self) -> Script[None]:
        sink = self.out.thinking if self.think_is_on else self.out.dropped
        tag: str | None = None
        blank = ""
        if self.starts_in_thought():
            yield from self.drop_opening(THINK_OPEN)
            tag = yield from self.thought(sink)
        else:
            yield from self.stray_close()
        while True:
            if tag is None:
                yield (text := self.content(_CONTENT_END_WITH_TOOLS if self.tools else _CONTENT_END))
                if text.tag is None:
                    return
                tag, blank = text.tag, text.blank
            if tag == THINK_OPEN:
                self.out.content.add(blank)
                tag = yield from self.thought(sink)
                blank = ""
                continue
            if (yield from self.call(tag, blank)):
                yield from self.stray_close()
            tag = None

    def starts_in_thought(self) -> bool:
        """Whether the prompt has opened a thought."""
        return self.think_is_on

    def thought(self, sink: Sink) -> Script[str | None]:
        """A thought. Gives the tag that ended it, if that opens a call."""
        yield SkipBlank()
        yield (thought := self.thinking(_THOUGHT_END, sink))
        if thought.tag == THINK_CLOSE:
            yield from self.stray_close()
        return TOOL_OPEN if thought.tag == TOOL_OPEN else None

    def stray_close(self) -> Script[None]:
        """A tag that closes nothing, at a place where models write it, and white space around it."""
        yield from self.drop_opening(THINK_CLOSE)
        yield SkipBlank()

    def call(self, tag: str, blank: str) -> Script[bool]:
        """What may be a call, opened by ``tag``. Gives whether it was one."""
        if tag == BRACE:
            return (yield from self.bare_object(blank))
        if tag == USER_OPEN:
            return (yield from self.user_call(blank))
        return (yield from self.block(TOOL_OPEN, blank, _CLOSE, self.read))

    def bare_object(self, blank: str) -> Script[bool]:
        """A JSON object in the content: a call, if it names a declared tool."""
        yield (read := JsonObject(self._names_no_tool))
        call = call_of_object(read.found)
        if call is not None and (name := self._declared_name(call.name)) in self.tools:
            self.out.call(ToolCall(name, call.arguments))
            return True
        self.more_content(blank + read.text)
        return False

    def user_call(self, blank: str) -> Script[bool]:
        """A block that is a call if it names a declared tool, and text if not."""
        names = (*self.tools, *(name for name in _ALIASES if self._declared_name(name) in self.tools))
        yield (opening := Opening(*names, after_blank=True))
        if opening.tag is None:
            self.more_content(blank + USER_OPEN)
            return False
        name = opening.tag
        return (
            yield from self.block(
                USER_OPEN + opening.blank + name,
                blank,
                _USER_CLOSE,
                lambda text, finished: self._declared_ones(self.read(name + text, finished)),
            )
        )

    def read(self, text: str, finished: bool) -> Sequence[ToolCall]:
        """The call in a block; more than one if it was opened again before it was closed.

        The text before another opening tag must be a whole call: the tag may stand in a value.
        """
        calls: list[ToolCall] = []
        parts = text.split(TOOL_OPEN)
        for index, part in enumerate(parts, start=1):
            whole = index == len(parts)
            if call := self._read_one(trim(part), finished=finished and whole):
                calls.append(call)
            elif trim(part):
                last = self._read_one(trim(TOOL_OPEN.join(parts[index - 1 :])), finished=finished)
                calls += [last] if last else []
                break
        is_cut = calls and not finished and self.tools.is_cut_name(calls[-1].name, text)
        return () if is_cut else calls

    def _read_one(self, text: str, *, finished: bool) -> ToolCall | None:
        if text.startswith(BRACE):
            call = call_of_object(json_object(text))
            return ToolCall(self._declared_name(call.name), call.arguments) if call else None
        end = next((at for at in (text.find(KEY), text.find(BRACE)) if at >= 0), len(text))
        name = self._declared_name(trim(text[:end]))
        arguments = self._arguments(text[end:], name, finished=finished)
        return ToolCall(name, arguments) if name and arguments is not None else None

    def _arguments(self, text: str, tool: str, *, finished: bool) -> Mapping[str, Any] | None:
        """What follows the name: nothing, pairs, or a JSON object. ``None`` if it cannot be read."""
        if not text:
            return {} if finished or tool in self.tools else None
        if text.startswith(BRACE):
            return json_object(text)
        arguments: dict[str, Any] = {}
        pairs = list(_pairs(text))
        for key, value, _ in pairs:
            arguments[trim(key)] = typed(unframed(value), self.tools.types(tool, trim(key)))
        behind = text[pairs[-1][-1] :] if pairs else text
        return arguments if finished or not trim(behind) else None

    def _declared_name(self, name: str) -> str:
        """The name of the declared tool that ``name`` is an alias of, or ``name``."""
        target = _ALIASES.get(name, name)
        return target if name not in self.tools and target in self.tools else name

    def _declared_ones(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        return calls if all(call.name in self.tools for call in calls) else ()

    def _names_no_tool(self, member: str, text: str) -> bool:
        return member == "name" and self._declared_name(text) not in self.tools


class LagunaParser(PoolsideParser):
    """The same; a prompt that ends in an answer has opened no thought."""

    def starts_in_thought(self) -> bool:
        last = self.last_message
        return super().starts_in_thought() and not (last is not None and last.role == "assistant")


def _pairs(text: str) -> Iterator[tuple[str, str, int]]:
    """Complete pairs of key and value, and where each ends. A key without a value is passed over."""
    at = 0
    while (start := text.find(KEY, at)) >= 0 and (key_end := text.find(KEY_CLOSE, start)) >= 0:
        at = key_end + len(KEY_CLOSE)
        rest = _after_blank(text, at)
        if not text.startswith(VALUE, rest):
            continue
        value_end = text.find(VALUE_CLOSE, rest)
        if value_end < 0:
            return
        at = value_end + len(VALUE_CLOSE)
        yield text[start + len(KEY) : key_end], text[rest + len(VALUE) : value_end], at


def _after_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at
