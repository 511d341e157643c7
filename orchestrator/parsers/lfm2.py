"""``lfm2`` and ``lfm2-thinking``: lists of calls like Python's, between tags or bare.

Source: ``parsers`` §5.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.pythonic import Dialect, Malformed, read_call, split
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import SkipBlank, Step
from orchestrator.parsers.text import BLANK, Tags, trim

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
TOOL_OPEN, TOOL_CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"

_THOUGHT_END = Tags(THINK_CLOSE)
_CLOSE = Tags(TOOL_CLOSE)
_DIALECT = Dialect(
    words={"true": True, "True": True, "false": False, "False": False, "null": None, "None": None},
    escapes={"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r"},
    unicode_escapes=True,
    digit_gaps=True,
    json_collections=True,
)


class Lfm2Parser(ScriptedParser):
    """Content with blocks of calls in it. With tools, an answer that is nothing but calls needs no tags."""

    preserved_tokens = (THINK_OPEN, THINK_CLOSE, TOOL_OPEN, TOOL_CLOSE)
    keeps_end = True

    def script(self) -> Script[None]:
        if self.tools:
            yield (bare := BareCalls(self.tools))
            calls = read_calls(bare.text, True)
            if calls and all(call.name in self.tools for call in calls):
                self.out.call(*calls)
            else:
                self.out.content.add(bare.text)
        yield from self.blocks(TOOL_OPEN, _CLOSE, read_calls)


class Lfm2ThinkingParser(Lfm2Parser):
    """The same after a thought, if the model opens one."""

    def script(self) -> Script[None]:
        may_think = self.think_is_off or (self.think_is_on and not self.prefilled)
        if may_think and (yield from self.drop_opening(THINK_OPEN)):
            yield self.thinking(_THOUGHT_END)
            yield SkipBlank()
        yield from super().script()


def read_calls(text: str, finished: bool) -> Sequence[ToolCall]:
    """The calls in a block, ``[f(a=1), g(b='x')]`` or ``f(a=1)``. Finished, it may lack the last bracket."""
    body = trim(text)
    if body.startswith("[") and (body.endswith("]") or finished):
        body = body[1:].removesuffix("]")
    try:
        parts = split(body)
        return [read_call(part, _DIALECT) for part in (parts if trim(parts[-1]) else parts[:-1])]
    except Malformed:
        return ()


class BareCalls(Step):
    """Reads an output that is nothing but calls of declared tools. Once it is more, all is left to read."""

    def __init__(self, names: Iterable[str]) -> None:
        self.text = ""
        """The whole output, if it may be calls."""
        self._names = frozenset(names)
        self._beginnings = frozenset(name[:end] for name in names for end in range(len(name) + 1))
        self._parts: list[str] = []
        self._name = ""
        self._depth = 0
        self._quote = ""
        self._escaped = False
        self._list_may_open = True
        self._list_closed = False

    def take(self, text: str) -> str | None:
        self._parts.append(text)
        return None if all(map(self._fits, text)) else "".join(self._parts)

    def end(self) -> str:
        self.text = "".join(self._parts)
        return ""

    def _fits(self, char: str) -> bool:
        if self._quote:
            return self._fits_in_string(char)
        if self._depth:
            return self._fits_in_call(char)
        if char in BLANK:
            return not self._name
        if self._list_closed:
            return False
        if char == "(" and self._name in self._names:
            self._name, self._depth = "", 1
            return True
        return self._fits_before_call(char)

    def _fits_before_call(self, char: str) -> bool:
        may_open, self._list_may_open = self._list_may_open, False
        if not self._name and char == "[":
            return may_open
        if not self._name and char in ",]":
            self._list_closed = char == "]"
            return not may_open
        self._name += char
        return self._name in self._beginnings

    def _fits_in_call(self, char: str) -> bool:
        if char in "\"'":
            self._quote = char
        self._depth += (char in "([{") - (char in ")]}")
        return char != "<"

    def _fits_in_string(self, char: str) -> bool:
        if self._escaped or char == "\\":
            self._escaped = not self._escaped
        elif char == self._quote:
            self._quote = ""
        return True
