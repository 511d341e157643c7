"""``qwen3-coder``, with thoughts ``qwen3.5``, ``ornith``, ``nemotron-3``: calls are elements between tags.

A call is ``<function=NAME>`` with elements ``<parameter=KEY>``, whose text is literal: it may hold anything
that looks like a tag. Source: ``parsers`` §5.1, §5.2, §5.10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.call_objects import call_of_object
from orchestrator.parsers.declared import DeclaredTools
from orchestrator.parsers.json_text import json_object
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Block, SkipBlank
from orchestrator.parsers.text import Tags, ends_within, trim
from orchestrator.parsers.values import typed, unframed

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
TOOL_OPEN, TOOL_CLOSE = "<tool_call>", "</tool_call>"
FUNCTION, FUNCTION_CLOSE = "<function=", "</function>"
PARAMETER, PARAMETER_CLOSE = "<parameter=", "</parameter>"

_END_OF_THOUGHT = Tags(THINK_CLOSE, TOOL_OPEN)
_CLOSE = Tags(TOOL_CLOSE)
_FUNCTION_END = Tags(FUNCTION_CLOSE)
_REPEATED = re.compile(rf"({FUNCTION}[^<>]*>)\s*(?=\1)")
"""A function that is opened again at once."""
_MARK = re.compile("|".join((FUNCTION, PARAMETER, PARAMETER_CLOSE, FUNCTION_CLOSE)))


class Qwen3CoderParser(ScriptedParser):
    """Content with calls in it. A declared function needs no outer tags (case B026)."""

    preserved_tokens: tuple[str, ...] = (TOOL_OPEN, TOOL_CLOSE)

    def script(self) -> Script[None]:
        yield from self.content_with_calls(opened=False)

    def content_with_calls(self, *, opened: bool) -> Script[None]:
        """Content to the end; with ``opened`` a call has been opened already."""
        tags = Tags(TOOL_OPEN, *(f"{FUNCTION}{name}>" for name in self.tools))
        tag, blank = TOOL_OPEN, ""
        while True:
            if not opened:
                yield (text := self.content(tags))
                if text.tag is None:
                    return
                tag, blank = text.tag, text.blank
            opened = False
            if tag == TOOL_OPEN:
                is_call = yield from self.block(TOOL_OPEN, blank, _CLOSE, self.read)
            else:
                is_call = yield from self.bare_function(tag, blank)
            if is_call:
                yield SkipBlank()

    def read(self, text: str, finished: bool) -> Sequence[ToolCall]:
        """The call in a block."""
        call = read_call(text, self.tools, finished=finished)
        return (call,) if call else ()

    def bare_function(self, opening: str, blank: str) -> Script[bool]:
        """A function without outer tags; a closing one may follow. Gives whether it was a call."""
        parts, in_value = [opening], False
        while True:
            yield (block := Block(_FUNCTION_END))
            parts += block.text, block.tag or ""
            in_value = ends_within(block.text, PARAMETER, PARAMETER_CLOSE, within=in_value)
            if block.tag is None or not in_value:
                break
        text = "".join(parts)
        if block.tag and (call := read_call(text, self.tools, finished=True)):
            self.out.call(call)
            yield from self.drop_opening(TOOL_CLOSE)
            return True
        self.give_back(blank + text)
        return False


class Qwen35Parser(Qwen3CoderParser):
    """The same after a thought, which the prompt has opened; the model may repeat the tag.

    Where it was told not to think and opens a thought nevertheless, that is no content.
    """

    preserved_tokens = (THINK_OPEN, THINK_CLOSE, TOOL_OPEN, TOOL_CLOSE)

    def script(self) -> Script[None]:
        opened = yield from self.thought()
        yield from self.content_with_calls(opened=opened)

    def thought(self) -> Script[bool]:
        """The thought, if there is one. Gives whether a call has ended it."""
        if self.think_is_off:
            if not (yield from self.drop_opening(THINK_OPEN)):
                return False
        elif self.prefilled:
            return False
        else:
            yield from self.drop_opening(THINK_OPEN)
        yield (thought := self.thinking(_END_OF_THOUGHT))
        if thought.tag == THINK_CLOSE:
            yield SkipBlank()
        return thought.tag == TOOL_OPEN


def read_call(text: str, tools: DeclaredTools, *, finished: bool) -> ToolCall | None:
    """The call in a block: its first function, or a JSON object. What surrounds a function is ignored.

    An unfinished block has a call only if the function, or the object, is closed.
    """
    body = trim(text)
    if body.startswith("{"):
        return call_of_object(json_object(body))
    start = text.find(FUNCTION)
    while start >= 0 and (repeated := _REPEATED.match(text, start)):
        start = repeated.end()
    name = _name_at(text, start + len(FUNCTION)) if start >= 0 else None
    if name is None:
        return None
    arguments = _arguments(text, name.end, name.text, tools, must_close=not finished)
    return None if arguments is None else ToolCall(name.text, arguments)


class _Name(NamedTuple):
    text: str
    end: int
    """Where the text after the tag begins."""


class _Mark(NamedTuple):
    tag: str
    start: int
    end: int


def _name_at(text: str, start: int) -> _Name | None:
    """The name from ``start`` to the end of its tag; ``None`` if the tag is broken."""
    end = text.find(">", start)
    name = trim(text[start:end])
    return _Name(name, end + 1) if end >= 0 and name and "<" not in name else None


def _arguments(
    text: str, start: int, tool: str, tools: DeclaredTools, *, must_close: bool
) -> Mapping[str, Any] | None:
    """The parameters of a function whose name ends at ``start``.

    ``None`` if one has a broken tag, or none: text that is closed without having been opened.
    """
    marks = [_Mark(match.group(), match.start(), match.end()) for match in _MARK.finditer(text, start)]
    arguments: dict[str, Any] = {}
    index = 0
    while index < len(marks) and marks[index].tag not in (FUNCTION, FUNCTION_CLOSE):
        mark, index = marks[index], index + 1
        if mark.tag == PARAMETER_CLOSE:
            if trim(text[start : mark.start]):
                return None
            continue
        if (key := _name_at(text, mark.end)) is None:
            return None
        end, index = _end_of_value(marks, index, len(text))
        value = text[key.end : max(key.end, end)].replace("\r\n", "\n")
        arguments[key.text] = typed(unframed(value), tools.types(tool, key.text))
    closed = index < len(marks) and marks[index].tag == FUNCTION_CLOSE
    return arguments if closed or not must_close else None


def _end_of_value(marks: Sequence[_Mark], index: int, end: int) -> tuple[int, int]:
    """Where the value ends whose first mark is number ``index``, and the number of the mark behind it.

    That is at the last closing tag before the next parameter or the end of the function. Another function
    ends the search, if anything was closed before it; otherwise it is text (case B025).
    """
    close: int | None = None
    function_close: int | None = None
    close_in_function: int | None = None
    while index < len(marks):
        tag = marks[index].tag
        if tag == PARAMETER or (tag == FUNCTION and (close is not None or function_close is not None)):
            break
        if tag == PARAMETER_CLOSE:
            close = index
        elif tag == FUNCTION_CLOSE:
            function_close, close_in_function = index, close
        index += 1
    if index < len(marks) and marks[index].tag == PARAMETER:
        return marks[index if close is None else close].start, index
    last = close if close_in_function is None else close_in_function
    if last is not None:
        return marks[last].start, last + 1
    if function_close is not None:
        return marks[function_close].start, function_close
    return (marks[index].start if index < len(marks) else end), index
