"""``harmony`` (gpt-oss): a row of messages, each in a channel and perhaps for a recipient.

Source: ``parsers`` §6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.parsers.harmony_header import (
    ASSISTANT,
    CHANNEL,
    CONSTRAIN,
    MESSAGE,
    RECIPIENT,
    Header,
    looks_like_header,
    read_header,
)
from orchestrator.parsers.harmony_names import prompt_names
from orchestrator.parsers.json_text import json_object
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Block, Flow, Opening, SkipBlank
from orchestrator.parsers.text import Tags, trim

START, END, CALL, RETURN = "<|start|>", "<|end|>", "<|call|>", "<|return|>"
FUNCTIONS = "functions."

_LONGEST_HEADER = 200
"""Characters; a longer text before ``<|message|>`` is no header."""
_START = Tags(START)
_BODY_END = Tags(END, CALL, RETURN)
_HEADER_END = Tags(MESSAGE, END, CALL, RETURN)


class HarmonyParser(ScriptedParser):
    """The channel and the recipient of a message say whether it is thinking, content or a call."""

    preserved_tokens = (START, END, MESSAGE, CHANNEL, CONSTRAIN)
    careful = False

    def start(
        self, tools: Sequence[Tool], last_message: Message | None, think: Think | None
    ) -> tuple[Tool, ...]:
        """Prepare for one output. The tools come back under names that are identifiers."""
        given = [tool.function.name for tool in tools]
        names = prompt_names(given)
        self.given_names = dict(zip(names, given, strict=True))
        super().start(tools, last_message, think)
        return tuple(
            replace(tool, function=replace(tool.function, name=name))
            for tool, name in zip(tools, names, strict=True)
        )

    def script(self) -> Script[None]:
        header = self.prefilled_header() or (yield from self.first_header())
        while True:
            if header is not None:
                yield from self.body(header)
            if not (yield from self.text_outside()):
                return
            header = yield from self.header(START, "", "")

    def prefilled_header(self) -> Header | None:
        """The header of the message that the prompt has begun, if the output goes on with its body."""
        last = self.last_message
        if last is None or last.role != ASSISTANT:
            return None
        if last.content:
            return Header("final", "")
        return Header("analysis", "") if last.thinking else None

    def first_header(self) -> Script[Header | None]:
        """The header whose role the prompt has written, if the output goes on with it."""
        yield (opening := Opening(CHANNEL, CONSTRAIN, RECIPIENT, MESSAGE, after_blank=True))
        if opening.tag == MESSAGE:
            return read_header(ASSISTANT)
        if opening.tag is None and not opening.ended:
            return None
        return (yield from self.header("", ASSISTANT, opening.blank + (opening.tag or "")))

    def header(self, opening: str, role: str, beginning: str) -> Script[Header | None]:
        """The rest of a header; ``None`` if it is none but text, which is content with its ``opening``.

        ``role`` is what the prompt has written of it, ``beginning`` what has been read.
        """
        yield (block := Block(_HEADER_END, limit=_LONGEST_HEADER))
        text = beginning + block.text
        if block.tag == MESSAGE:
            return read_header(role + text)
        has_body = block.tag is not None and "{" in text  # arguments without the tag before them
        if has_body or block.overlong or not looks_like_header(role + text):
            self.more_content(opening + text)
        return None

    def body(self, header: Header) -> Script[None]:
        """The body of a message, to its end."""
        if header.channel in ("analysis", "commentary") and header.recipient:
            yield (block := Block(_BODY_END))
            self.call(header.recipient, block.text)
        else:
            yield Flow(self.out.thinking if header.channel == "analysis" else self.out.content, _BODY_END)

    def call(self, recipient: str, text: str) -> None:
        """A call with ``text`` as its arguments; none at all are no arguments."""
        name = recipient.removeprefix(FUNCTIONS)
        arguments = json_object(text) if trim(text) else {}
        if name and arguments is not None:
            self.out.call(ToolCall(self.given_names.get(name, name), arguments))
        else:
            self.give_back(text)

    def text_outside(self) -> Script[bool]:
        """Text between messages. Gives whether another message follows."""
        yield (opening := Opening(START, after_blank=True))
        if opening.tag:
            return True
        if opening.ended:
            yield SkipBlank()
        yield (text := self.content(_START))
        return text.tag is not None
