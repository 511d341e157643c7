"""``functiongemma``: ``call:NAME{key:value,…}`` between tags, strings between ``<escape>`` marks.

Source: ``parsers`` §5.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Opening
from orchestrator.parsers.text import Tags, trim
from orchestrator.parsers.values import decimal

TOOL_OPEN, TOOL_CLOSE = "<start_function_call>", "<end_function_call>"
CALL, ESCAPE = "call:", "<escape>"

_OPEN, _CLOSE = Tags(TOOL_OPEN), Tags(TOOL_CLOSE)
_TOKEN = re.compile(rf"{ESCAPE}.*?{ESCAPE}|[{{}}\[\],]", re.DOTALL)
_SEPARATOR = re.compile("[:=]")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>.*)(?P=quote)""", re.DOTALL)
_WORDS = {"true": True, "false": False, "<nil>": None}
_DEEPEST = 50
"""How deep lists and maps may be nested; deeper ones are text."""


class FunctionGemmaParser(ScriptedParser):
    """Content as it is, with calls in it; white space alone between two calls is dropped."""

    preserved_tokens = (TOOL_OPEN, TOOL_CLOSE)
    careful = False

    def script(self) -> Script[None]:
        after_call = False
        while (blank := (yield from self.next_call(after_call=after_call))) is not None:
            after_call = yield from self.block(TOOL_OPEN, blank, _CLOSE, read_calls)

    def next_call(self, *, after_call: bool) -> Script[str | None]:
        """Content up to the next call. Gives the white space before the call, ``None`` at the end."""
        if after_call:
            yield (opening := Opening(TOOL_OPEN, after_blank=True))
            if opening.tag:
                return opening.blank
        yield (text := self.content(_OPEN))
        return None if text.tag is None else ""


def read_calls(text: str, finished: bool) -> Sequence[ToolCall]:
    """The call in a block; an unfinished one must be complete to its last brace."""
    start = text.find(CALL)
    brace, end = text.find("{", start), text.rfind("}")
    name = trim(text[start + len(CALL) : brace])
    arguments = text[brace + 1 : end]
    if start < 0 or not start < brace < end or not name:
        return ()
    if not finished and (trim(text[end + 1 :]) or not _is_closed(arguments)):
        return ()
    return (ToolCall(name, dict(_members(arguments, 0))),)


def _is_closed(text: str) -> bool:
    depth = 0
    for match in _TOKEN.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match.group(), 0)
        if depth < 0:
            return False
    return depth == 0 and text.count(ESCAPE) % 2 == 0


def _members(text: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Keys and values. ``key=value`` is a slip that is understood (case B021)."""
    for part in _split(text):
        if separator := _SEPARATOR.search(part):
            key, value = trim(part[: separator.start()]), trim(part[separator.end() :])
            if separator.group() == "=" and (quoted := _QUOTED.fullmatch(value)):
                yield key, quoted["text"]
            else:
                yield key, _value(value, depth)


def _value(text: str, depth: int) -> Any:
    inner = text.removeprefix(ESCAPE).removesuffix(ESCAPE)
    if len(text) - len(inner) == 2 * len(ESCAPE) and ESCAPE not in inner:
        return inner
    if text in _WORDS:
        return _WORDS[text]
    if (number := decimal(text)) is not None:
        return number
    if depth < _DEEPEST and text[:1] == "[" and text[-1:] == "]":
        return [_value(trim(part), depth + 1) for part in _split(text[1:-1])]
    if depth < _DEEPEST and text[:1] == "{" and text[-1:] == "}":
        return dict(_members(text[1:-1], depth + 1))
    return text


def _split(text: str) -> Iterator[str]:
    """The parts between commas outside brackets and escaped text; empty ones are left out."""
    depth = start = 0
    for match in _TOKEN.finditer(text):
        match match.group():
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth = max(0, depth - 1)
            case "," if depth == 0:
                if trim(text[start : match.start()]):
                    yield text[start : match.start()]
                start = match.end()
    if trim(text[start:]):
        yield text[start:]
