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
        """The call in a block.

        An unfinished one must be flawless, and of a declared tool: a value cut short must never be used.
        """
        elements = read_elements(text)
        if elements is None and finished:
            elements = read_elements(repaired(text))
        if elements is None or not elements.name or len(elements.keys) != len(elements.values):
            return ()
        if not finished and not (elements.name in self.tools and all(elements.keys)):
            return ()
        return (
            ToolCall(
                elements.name,
                {
                    key: typed(unframed(value), self.tools.types(elements.name, key))
                    for key, value in zip(elements.keys, elements.values, strict=True)
                },
            ),
        )


class Glm47Parser(GlmOcrParser):
    """The same; unless told not to think, it does so from the start."""

    def thinks(self) -> Script[bool]:
        if self.think_is_off:
            return (yield from super().thinks())
        return True
