"""``olmo3`` and ``olmo3-think``: calls like Python's, one in a line; or thoughts, but no calls.

Source: ``parsers`` §5.8, §5.9.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.pythonic import Dialect, Malformed, read_call
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import SkipBlank
from orchestrator.parsers.text import Tags, trim

THINK_CLOSE = "</think>"
TOOL_OPEN, TOOL_CLOSE = "<function_calls>", "</function_calls>"

_THOUGHT_END = Tags(THINK_CLOSE)
_CLOSE = Tags(TOOL_CLOSE)
_DIALECT = Dialect(
    words={
        "true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "nil": None,
    },
    escapes={"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r"},
    unicode_escapes=True,
    bare_items=True,
    empty_values=True,
    name=r"[A-Za-z0-9_.\-]+",
)  # fmt: skip


class Olmo3Parser(ScriptedParser):
    """Content as it is, with blocks of calls in it."""

    preserved_tokens = (TOOL_OPEN, TOOL_CLOSE)
    careful = False

    def script(self) -> Script[None]:
        yield from self.blocks(TOOL_OPEN, _CLOSE, read_calls)


class Olmo3ThinkParser(ScriptedParser):
    """A thought, which the prompt has opened, then content as it is."""

    preserved_tokens = (THINK_CLOSE,)

    def script(self) -> Script[None]:
        if not self.prefilled:
            yield self.thinking(_THOUGHT_END)
            yield SkipBlank()


def read_calls(text: str, finished: bool) -> Sequence[ToolCall]:
    """The calls in a block, if every line is one."""
    try:
        return [read_call(line, _DIALECT) for line in text.split("\n") if trim(line)]
    except Malformed:
        return ()
