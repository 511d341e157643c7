"""``cohere``: blocks of thinking, text and actions between special tokens.

Source: ``parsers`` §5.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.call_objects import call_of_object
from orchestrator.parsers.json_scan import balanced_objects
from orchestrator.parsers.json_text import json_array, json_object
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Block, Opening, SkipBlank
from orchestrator.parsers.text import Tags

THINKING, THINKING_CLOSE = "<|START_THINKING|>", "<|END_THINKING|>"
TEXT, TEXT_CLOSE = "<|START_TEXT|>", "<|END_TEXT|>"
RESPONSE, RESPONSE_CLOSE = "<|START_RESPONSE|>", "<|END_RESPONSE|>"
ACTION, ACTION_CLOSE = "<|START_ACTION|>", "<|END_ACTION|>"
END_OF_TURN = "<|END_OF_TURN_TOKEN|>"

_THOUGHT_END = Tags(THINKING_CLOSE, TEXT, RESPONSE, ACTION)
_TEXT_CLOSES = (TEXT_CLOSE, RESPONSE_CLOSE, END_OF_TURN)
_TEXT_END = Tags(*_TEXT_CLOSES)
_BARE_TEXT_END = Tags(*_TEXT_CLOSES, TEXT, RESPONSE, ACTION, THINKING)
_BETWEEN = (THINKING, THINKING_CLOSE, TEXT, RESPONSE, ACTION, END_OF_TURN)
_ACTION_END = Tags(ACTION_CLOSE)


class CohereParser(ScriptedParser):
    """A row of blocks. Text that no block holds is content; any opener ends it, and a thought too."""

    preserved_tokens = (
        THINKING, THINKING_CLOSE, TEXT, TEXT_CLOSE, ACTION, ACTION_CLOSE, RESPONSE, RESPONSE_CLOSE,
    )  # fmt: skip
    careful = False

    def script(self) -> Script[None]:
        opener = yield from self.first_opener()
        blank, after_given_back = "", False
        while True:
            if opener == THINKING:
                yield (thought := self.thinking(_THOUGHT_END))
                opener = thought.tag
                continue
            if opener in (TEXT, RESPONSE):
                yield self.content(_TEXT_END)
            elif opener == ACTION:
                after_given_back = not (yield from self.action(blank))
            opener, blank = yield from self.next_opener(after_given_back=after_given_back)
            if opener is None:
                return
            after_given_back = False

    def first_opener(self) -> Script[str | None]:
        """The opener that the prompt ends with, if it does; the model may repeat that of a thought."""
        if self.prefilled:
            return TEXT
        if self.think_is_off:
            return None
        yield Opening(THINKING, after_blank=True)
        return THINKING

    def next_opener(self, *, after_given_back: bool) -> Script[tuple[str | None, str]]:
        """What opens the next block, ``None`` at the end; text before it is content.

        After a block that was given back white space is part of the text, so what stands before the opener
        is given with it.
        """
        yield (between := Opening(*_BETWEEN, after_blank=True))
        if between.tag is not None:
            return between.tag, between.blank if after_given_back else ""
        if not after_given_back:
            yield SkipBlank()
        yield (text := self.content(_BARE_TEXT_END))
        return text.tag, ""

    def action(self, blank: str) -> Script[bool]:
        """A list of calls. Gives whether it was one; an empty one is."""
        yield (block := Block(_ACTION_END))
        if json_array(_ACTION_END.without_partial(block.text)) == []:
            return True
        calls = self.calls_of(block, _ACTION_END, read_calls)
        self.out.call(*calls)
        if not calls:
            self.give_back(blank + ACTION + block.text + (block.tag or ""))
        return bool(calls)


def read_calls(text: str, finished: bool) -> Sequence[ToolCall]:
    """The calls in an array; if it is no valid one, those of the objects in it that are."""
    found: Sequence[Any] | None = json_array(text)
    if found is None:
        found = [json_object(part) for part in balanced_objects(text)]
    calls = [
        call_of_object(item, name="tool_name", arguments="parameters")
        for item in found
        if isinstance(item, dict)
    ]
    return [call for call in calls if call is not None]
