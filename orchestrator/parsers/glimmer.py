"""``glimmer``: a row of messages, each for a recipient; calls are elements in a message for their tool.

Source: ``parsers`` §5.17.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.declared import DeclaredTools
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Block, Flow, Opening
from orchestrator.parsers.text import Tags, ends_within, trim
from orchestrator.parsers.values import typed

START, MESSAGE, END_OF_MESSAGE, END_OF_TURN = "<|start|>", "<|message|>", "<|eom|>", "<|eot|>"
CALLS, CALLS_CLOSE = "<atem:function_calls>", "</atem:function_calls>"
PARAMETER, PARAMETER_CLOSE = "<atem:parameter", "</atem:parameter>"
HEADER = f"{START}assistant"
RECIPIENT = "to="
SELF = "self"

_LONGEST_HEADER = 500
"""Characters; a longer text before ``<|message|>`` is no header."""
_HEADER_END = Tags(MESSAGE, END_OF_MESSAGE, END_OF_TURN)
_CALLS_CLOSE = Tags(CALLS_CLOSE)
_INVOKE = re.compile(
    rf"""{CALLS}\s*<atem:invoke\ name="(?P<name>[^"]*)">\n?
    (?P<parameters>.*)
    </atem:invoke>\s*(?:{CALLS_CLOSE})?""",
    re.DOTALL | re.VERBOSE,
)
_PARAMETER = re.compile(rf'{PARAMETER} name="(?P<key>[^"]*)">')


class GlimmerParser(ScriptedParser):
    """Messages to oneself are thoughts, messages to tools are calls, all others are content."""

    preserved_tokens = (START, MESSAGE, END_OF_MESSAGE, END_OF_TURN)
    careful = False

    def script(self) -> Script[None]:
        implied = {f"{HEADER} {RECIPIENT}{name}{MESSAGE}": name for name in (SELF, "user", *self.tools)}
        implied[HEADER + MESSAGE] = ""
        ends = Tags(END_OF_MESSAGE, END_OF_TURN, *implied)
        tag: str | None = None
        while True:
            if tag in implied:
                recipient = implied[tag]
            else:
                yield (header := Block(_HEADER_END, limit=_LONGEST_HEADER))
                if header.tag is None and not header.overlong:
                    self.out.content.add(header.text)
                    return
                if header.tag in (END_OF_MESSAGE, END_OF_TURN):
                    self.out.content.add(header.text if recipient_of(header.text) else "")
                    tag = None
                    continue
                recipient = recipient_of(header.text)
            tag = yield from self.body(recipient, ends)

    def body(self, recipient: str, ends: Tags) -> Script[str | None]:
        """A message. Gives the tag that ended it."""
        if recipient == SELF:
            yield (thought := Flow(self.out.dropped if self.think_is_off else self.out.thinking, ends))
            return thought.tag
        tool = resolve(recipient, self.tools)
        if self.tools:
            yield (opening := Opening(CALLS, after_blank=True))
            if opening.tag:
                return (yield from self.call(tool, opening.blank, ends))
        yield (content := self.content(ends))
        return content.tag

    def call(self, tool: str | None, blank: str, ends: Tags) -> Script[str | None]:
        """A message that begins like a call, for ``tool`` or for none. Gives the tag that ended it.

        In a message for a tool, tags in the value of a parameter end nothing.
        """
        parts, in_value = [blank, CALLS], False
        while True:
            yield (block := Block(ends))
            parts.append(block.text)
            in_value = ends_within(block.text, PARAMETER, PARAMETER_CLOSE, within=in_value)
            if block.tag is None or not (in_value and tool):
                break
            parts.append(block.tag)
        text = "".join(parts)
        call = read_call(_CALLS_CLOSE.without_partial(trim(text)), self.tools)
        if call and tool in (call.name, None):
            self.out.call(call)
        else:
            self.give_back(text)
        return block.tag


def recipient_of(header: str) -> str:
    """The recipient a header names; empty if none."""
    named = trim(trim(header).removeprefix(HEADER))
    return trim(named.removeprefix(RECIPIENT))


def resolve(name: str, tools: DeclaredTools) -> str | None:
    """The declared tool a recipient or a function's name stands for: itself, or behind its own namespace."""
    if name in tools:
        return name
    namespace, _, function = name.partition(".")
    return function if function in tools and function.partition(".")[0] == namespace else None


def read_call(text: str, tools: DeclaredTools) -> ToolCall | None:
    """The call that is all of ``text``; its closing tag may be missing."""
    found = _INVOKE.fullmatch(text)
    tool = resolve(found["name"].replace(MESSAGE, ""), tools) if found else None
    arguments = _parameters(found["parameters"], tool, tools) if found and tool else None
    return ToolCall(tool, arguments) if tool and arguments is not None else None


def _parameters(text: str, tool: str, tools: DeclaredTools) -> Mapping[str, Any] | None:
    """The parameters that are all of ``text``; each may have one line end behind it."""
    arguments: dict[str, Any] = {}
    at = 0
    while at < len(text):
        opening = _PARAMETER.match(text, at)
        end = text.find(PARAMETER_CLOSE, at)
        if opening is None or end < opening.end():
            return None
        arguments[opening["key"]] = typed(text[opening.end() : end], tools.types(tool, opening["key"]))
        at = end + len(PARAMETER_CLOSE)
        at += text.startswith("\n", at)
    return arguments
