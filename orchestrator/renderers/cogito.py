"""Cogito: DeepSeek's turns, tools as indented JSON."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers.turns import is_prefill, last_index, role_at

_IDENTITY = (
    "You are Cogito, an AI assistant created by Deep Cogito, "
    "which is an AI research lab based in San Francisco."
)
_END = "<｜end▁of▁sentence｜>"


class CogitoRenderer:
    """Source: ``prompts`` §5.2."""

    leading_bos = "<｜begin▁of▁sentence｜>"
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) == "system"
        turns = messages[1:] if has_system else messages
        out = [self.leading_bos, _head(messages[0].content if has_system else "", think), _tools(tools)]
        prefill = is_prefill(turns)
        for i, message in enumerate(turns):
            match message.role:
                case "user":
                    out.append(f"<｜User｜>{message.content}<｜Assistant｜>")
                case "assistant":
                    open_end = prefill and i == len(turns) - 1
                    out.append(f"{message.content}{_calls(message.tool_calls)}{'' if open_end else _END}")
                case "tool":
                    out.append(_result(turns, i))
                case _:
                    pass
        if not prefill:
            asked = last_index(turns, "user") > max(last_index(turns, "assistant"), last_index(turns, "tool"))
            out.append("" if asked else "<｜Assistant｜>")
            out.append("<think>\n" if think else "")
        return "".join(out)


def _head(system: str, think: Think | None) -> str:
    if think:
        return f"Enable deep thinking subroutine.\n\n{_IDENTITY}" + (f"\n\n{system}\n\n" if system else "")
    return _IDENTITY + (f"\n\n{system}" if system else "")


def _tools(tools: Sequence[Tool]) -> str:
    if not tools:
        return ""
    listed = (f"```json\n{prompt_json.indented(prompt_json.tool_value(tool))}\n```\n" for tool in tools)
    return "\nYou have the following functions available:\n" + "".join(listed)


def _calls(calls: Sequence[ToolCall]) -> str:
    if not calls:
        return ""
    return f"<｜tool▁calls▁begin｜>{chr(10).join(map(_call, calls))}<｜tool▁calls▁end｜>"


def _call(call: ToolCall) -> str:
    arguments = prompt_json.compact(prompt_json.arguments(call.arguments))
    return (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n"
        f"```json\n{arguments}\n```<｜tool▁call▁end｜>"
    )


def _result(turns: Sequence[Message], index: int) -> str:
    """A tool result; neighbours share one block."""
    opening = "\n" if role_at(turns, index - 1) == "tool" else "<｜tool▁outputs▁begin｜>"
    closing = "" if role_at(turns, index + 1) == "tool" else "<｜tool▁outputs▁end｜>"
    return f"{opening}<｜tool▁output▁begin｜>{turns[index].content}<｜tool▁output▁end｜>{closing}"
