"""``glm-4.7`` and ``glm-ocr``: a call is a name, then elements of keys and values.

Source: ``parsers`` §5.12.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.glm_elements import ELEMENT_TAGS, read_elements, repaired
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import SkipBlank
from orchestrator.parsers.text import Tags
from orchestrator.parsers.values import typed, unframed

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
TOOL_OPEN, TOOL_CLOSE = "<tool_call>", "</tool_call>"

_THOUGHT_END = Tags(THINK_CLOSE)
_CLOSE = Tags(TOOL_CLOSE)
_MOST_OPENINGS = 20
"""Opening tags in one block that are looked at."""


class GlmOcrParser(ScriptedParser):
    """A thought, if the model opens one, then content with calls in it."""

    preserved_tokens = (THINK_OPEN, THINK_CLOSE, TOOL_OPEN, TOOL_CLOSE, *ELEMENT_TAGS)

    def script(self) -> Script[None]:
        if (yield from self.thinks()):
            yield self.thinking(_THOUGHT_END)
            yield SkipBlank()
        yield from self.blocks(TOOL_OPEN, _CLOSE, self.read)

    def thinks(self) -> Script[bool]:
        """Whether the output begins within a thought, an opening tag read."""
        return (yield from self.drop_opening(THINK_OPEN))

    def read(self, text: str, finished: bool) -> Sequence[ToolCall]:
        """The call in a block; more than one if it was opened again before it was closed."""
        calls: list[ToolCall] = []
        for _ in range(_MOST_OPENINGS):
            call = self._read_one(text, finished=finished)
            if call is None or (not finished and self.tools.is_cut_name(call.name, text)):
                return ()
            if TOOL_OPEN not in call.name:
                return [*calls, call]
            if (unclosed := self._unclosed(text)) is None:
                return ()
            call, text = unclosed
            calls.append(call)
        return ()

    def _unclosed(self, text: str) -> tuple[ToolCall, str] | None:
        """The call that another opening tag follows instead of its closing one, and what is behind that."""
        parts = text.split(TOOL_OPEN, _MOST_OPENINGS)
        for count in range(1, len(parts)):  # a tag may stand in a value
            call = self._read_one(TOOL_OPEN.join(parts[:count]), finished=False)
            if call is not None and TOOL_OPEN not in call.name and self.tools.has_required(call):
                return call, TOOL_OPEN.join(parts[count:])
        return None

    def _read_one(self, text: str, *, finished: bool) -> ToolCall | None:
        """The call that is all of ``text``.

        An unfinished one must be flawless, and of a declared tool: nothing that was cut short must be used.
        """
        elements = read_elements(text)
        if elements is None and finished:
            elements = read_elements(repaired(text))
        if elements is None or not elements.name or len(elements.keys) != len(elements.values):
            return None
        if not finished and not (elements.name in self.tools and all(elements.keys)):
            return None
        return ToolCall(
            elements.name,
            {
                key: typed(unframed(value), self.tools.types(elements.name, key))
                for key, value in zip(elements.keys, elements.values, strict=True)
            },
        )


class Glm47Parser(GlmOcrParser):
    """The same; unless told not to think, it does so from the start."""

    def thinks(self) -> Script[bool]:
        if self.think_is_off:
            return (yield from super().thinks())
        return True
