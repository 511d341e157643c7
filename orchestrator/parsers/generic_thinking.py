"""Thoughts between the tags that a template writes them with.

Source: ``parsers`` §7.
"""

from __future__ import annotations

from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Opening, SkipBlank, Thought
from orchestrator.parsers.text import Tags


class GenericThinkingParser(ScriptedParser):
    """One thought at the very beginning, then content as it is."""

    def __init__(self, opening: str, closing: str, *, inside: bool) -> None:
        self._opening = opening
        self._closing = Tags(closing)
        self._inside = inside
        """Whether the prompt has opened the thought."""

    def script(self) -> Script[None]:
        if not self._inside:
            yield (opening := Opening(self._opening, after_blank=True))
            if opening.tag is None:
                return
        yield SkipBlank()
        yield Thought(self.out.thinking, self._closing)
        yield SkipBlank()
