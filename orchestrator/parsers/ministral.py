"""``ministral``: ``[TOOL_CALLS]NAME[ARGS]{…}``, thoughts between ``[THINK]`` and ``[/THINK]``.

Source: ``parsers`` §5.5.
"""

from __future__ import annotations

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.json_steps import JsonObject
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Block, Flow, Opening, SkipBlank
from orchestrator.parsers.text import Tags, trim

THINK_OPEN, THINK_CLOSE = "[THINK]", "[/THINK]"
TOOL, ARGUMENTS = "[TOOL_CALLS]", "[ARGS]"

_CONTENT_END = Tags(TOOL, THINK_OPEN)
_THOUGHT_END = Tags(THINK_CLOSE)
_NAME_END = Tags(ARGUMENTS, TOOL)


class MinistralParser(ScriptedParser):
    """Content, thoughts and calls in any order."""

    preserved_tokens = (TOOL, THINK_OPEN, THINK_CLOSE, ARGUMENTS)

    def script(self) -> Script[None]:
        while True:
            yield (text := self.content(_CONTENT_END))
            if text.tag is None:
                return
            if text.tag == TOOL:
                yield from self.calls(text.blank)
            else:
                yield Flow(self.out.thinking, _THOUGHT_END)
                yield SkipBlank()

    def calls(self, blank: str) -> Script[None]:
        """A call; if another one begins before its arguments, that one too."""
        yield (name := Block(_NAME_END))
        while name.tag == TOOL:
            self.give_back(blank + TOOL + name.text)
            blank = ""
            yield (name := Block(_NAME_END))
        head = blank + TOOL + name.text + (name.tag or "")
        yield (opening := Opening("{", after_blank=True))
        if opening.tag is None:
            self.give_back(head)
            return
        yield (arguments := JsonObject())
        if arguments.found is not None and trim(name.text):
            self.out.call(ToolCall(trim(name.text), arguments.found))
        else:
            self.give_back(head + opening.blank + arguments.text)
