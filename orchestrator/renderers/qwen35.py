"""Qwen 3.5, Qwen 3.8 and Ornith: ChatML turns, tools as JSON, calls as nested tags.

Source: ``prompts`` §5.18.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain import prompt_json
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.domain.white_space import trim
from orchestrator.errors import BadRequest
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.qwen3_coder import tool_turn
from orchestrator.renderers.qwen3_vl import is_tool_response, last_query_index
from orchestrator.renderers.turns import role_at
from orchestrator.renderers.xml_calls import call_text, tools_section

_SYSTEM_ROLES = ("system", "developer")
_HIGH_EFFORT = (
    "Reasoning effort is set to xhigh. Please think carefully through the task, validate key assumptions, "
    "consider plausible alternatives, and prioritize correctness, consistency, and clarity "
    "in the final answer."
)
_LOW_EFFORT = (
    "Reasoning effort is set to low. Keep your thinking brief and focused, "
    "moving directly to the conclusion without unnecessary elaboration."
)


class UnrenderableConversation(BadRequest):
    """The model has no prompt for such a list of messages."""


class Qwen35Renderer:
    """Shows the thoughts of the turns after the user's last question, while it thinks.

    ``keeps_thoughts``: shows those of all turns, always (Ornith).
    """

    leading_bos = ""
    places_images = True

    def __init__(self, *, keeps_thoughts: bool = False) -> None:
        self._keeps_thoughts = keeps_thoughts

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        return self._render(messages, tools, thinks=think is None or bool(think))

    def _render(
        self, messages: Sequence[Message], tools: Sequence[Tool], *, thinks: bool, effort: str = ""
    ) -> str:
        tags = ImageTags()
        texts = [trim(tags.tagged(message)) for message in messages]
        has_system = role_at(messages, 0) == "system"
        out = [self._head(texts[0] if has_system else None, tools, effort)]
        turns, texts = (messages[1:], texts[1:]) if has_system else (messages, texts)
        last_query = last_query_index(turns, [trim(message.content) for message in turns])
        for i, message in enumerate(turns):
            match message.role:
                case "assistant":
                    shown = self._keeps_thoughts or (thinks and i > last_query)
                    out.append(self._answer(message, texts[i], shown=shown))
                    out.append("" if i == len(turns) - 1 else "<|im_end|>\n")
                case "tool":
                    out.append(tool_turn(turns, i, texts[i]))
                case role if self._has_turns(role):
                    out.append(f"<|im_start|>{role}\n{texts[i]}<|im_end|>\n")
                case _:
                    pass
        if messages and messages[-1].role != "assistant":
            out.append(
                f"<|im_start|>assistant\n<think>\n{'' if thinks else chr(10) + '</think>' + chr(10) * 2}"
            )
        return "".join(out)

    def _head(self, system: str | None, tools: Sequence[Tool], effort: str) -> str:
        return "" if system is None and not tools else _system_turn(system or "", tools, effort)

    def _has_turns(self, role: str) -> bool:
        return role in ("user", "system")

    def _answer(self, message: Message, text: str, *, shown: bool) -> str:
        thoughts, content = self._thoughts(message, text, shown=shown)
        block = f"<think>\n{thoughts}\n</think>\n\n" if shown else ""
        calls = "\n".join(map(call_text, message.tool_calls))
        if calls and trim(content):
            calls = f"\n\n{calls}"
        return f"<|im_start|>assistant\n{block}{content}{calls}"

    def _thoughts(self, message: Message, text: str, *, shown: bool) -> tuple[str, str]:
        """A message's reasoning and text; unless it is given, reasoning is looked for in the text."""
        if shown and message.thinking:
            return trim(message.thinking), text
        if "</think>" not in text:
            return "", text
        before, _, after = text.partition("</think>")
        return trim(before.rpartition("<think>")[2]), after.lstrip("\n")


class Qwen38Renderer(Qwen35Renderer):
    """Has one system message, an effort to reason with, and shows all thoughts."""

    def __init__(self) -> None:
        super().__init__(keeps_thoughts=True)

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        if not messages:
            raise UnrenderableConversation("no messages provided")
        messages = _with_one_system_message(messages)
        if not any(m.role == "user" and not is_tool_response(trim(m.content)) for m in messages):
            raise UnrenderableConversation("no user query found in messages")
        return self._render(messages, tools, thinks=think is None or bool(think), effort=_effort(think))

    def _head(self, system: str | None, tools: Sequence[Tool], effort: str) -> str:
        return _system_turn(system or "", tools, effort) if system or tools or effort else ""

    def _has_turns(self, role: str) -> bool:
        return True

    def _thoughts(self, message: Message, text: str, *, shown: bool) -> tuple[str, str]:
        return trim(message.thinking), text


def _with_one_system_message(messages: Sequence[Message]) -> Sequence[Message]:
    """What system and developer say, joined into one message at the start."""
    told = [message for message in messages if message.role in _SYSTEM_ROLES]
    for message in told:
        if message.images:
            raise UnrenderableConversation(f"{message.role} message cannot contain images")
    if not told or (len(told) == 1 and messages[0].role == "system"):
        return messages
    text = "\n\n".join(filter(None, (trim(message.content) for message in told)))
    rest = [message for message in messages if message.role not in _SYSTEM_ROLES]
    return [replace(told[0], role="system", content=text), *rest]


def _effort(think: Think | None) -> str:
    word = "high" if think is None else think.word
    if word in ("high", "max"):
        return _HIGH_EFFORT
    return _LOW_EFFORT if word == "low" else ""


def _system_turn(system: str, tools: Sequence[Tool], effort: str) -> str:
    listed = "".join(f"\n{prompt_json.spaced(prompt_json.tool_value(tool))}" for tool in tools)
    text = "\n\n".join(filter(None, (effort, tools_section(listed) if tools else "", system)))
    return f"<|im_start|>system\n{text}<|im_end|>\n"
