"""Poolside's models, Laguna and Poolside v1: tags around every turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.domain.white_space import WHITE_SPACE, trim
from orchestrator.renderers.turns import is_prefill, role_at

_BOS = "〈|EOS|〉"
_IDENTITY = (
    "You are a helpful, conversationally-fluent assistant made by Poolside. "
    "You are here to be helpful to users through natural language conversations."
)
_THINK_FIRST = "Wrap your thinking in '<think>', '</think>' tags, followed by a function call. "
_EXAMPLE_THOUGHTS = "<think> your thoughts here </think>\n"


class LagunaRenderer:
    """Source: ``prompts`` §5.10. Past reasoning is always shown."""

    leading_bos = _BOS
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) == "system"
        turns = messages[1:] if has_system else messages
        out = [_BOS, _laguna_head(messages[0].content if has_system else _IDENTITY, tools, think)]
        for message in turns:
            match message.role:
                case "user" | "system":
                    out.append(f"<{message.role}>\n{message.content}\n</{message.role}>\n")
                case "tool":
                    out.append(f"<tool_response>\n{message.content}\n</tool_response>\n")
                case "assistant":
                    out.append(_laguna_answer(message))
                case _:
                    pass
        last = turns[-1] if turns else None
        if last is None or last.role != "assistant":
            out.append(f"<assistant>\n{'<think>' if think else '</think>'}")
        elif last.content or last.thinking or last.tool_calls:
            return "".join(out).removesuffix("</assistant>\n")
        return "".join(out)


def _laguna_head(system: str, tools: Sequence[Tool], think: Think | None) -> str:
    system = system.rstrip(WHITE_SPACE)
    if not system and not tools:
        return ""
    text = f"\n{system}" if system else ""
    if tools:
        text += (
            f"\n\n{_available(tools)}\n\n{_THINK_FIRST if think else ''}"
            "For each function call, return an unescaped XML-like object with function name and arguments "
            "within '<tool_call>' and '</tool_call>' tags, like here:\n"
            f"{_EXAMPLE_THOUGHTS if think else ''}"
            "<tool_call>function-name\n<arg_key>argument-key</arg_key>\n"
            "<arg_value>value-of-argument-key</arg_value>\n</tool_call>"
        )
    return f"<system>\n{text}\n</system>\n"


def _available(tools: Sequence[Tool]) -> str:
    listed = "".join(f"{prompt_json.spaced(prompt_json.tool_value(tool))}\n" for tool in tools)
    return (
        "### Tools\n\nYou may call functions to assist with the user query.\n"
        f"All available function signatures are listed below:\n<available_tools>\n{listed}</available_tools>"
    )


def _laguna_answer(message: Message) -> str:
    reasoning, content = _reasoning_and_content(message)
    thoughts = f"<think>\n{reasoning}\n" if (reasoning := trim(reasoning)) else ""
    text = f"{trim(content)}\n" if content else ""
    calls = "".join(map(_laguna_call, message.tool_calls))
    return f"<assistant>\n{thoughts}</think>\n{text}{calls}</assistant>\n"


def _reasoning_and_content(message: Message) -> tuple[str, str]:
    """A message's reasoning and text; reasoning may stand in the text."""
    if "</think>" not in message.content:
        return message.thinking, message.content
    before = message.content.partition("</think>")[0]
    after = message.content.rpartition("</think>")[2].lstrip("\n")
    return message.thinking or before.rpartition("<think>")[2].strip("\n"), after


def _laguna_call(call: ToolCall) -> str:
    arguments = "".join(
        f"<arg_key>{name}</arg_key>\n<arg_value>{_value(value)}</arg_value>\n"
        for name, value in call.arguments.items()
    )
    return f"<tool_call>{call.name}\n{arguments}</tool_call>\n"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else prompt_json.spaced(prompt_json.sorted_keys(value))


class PoolsideRenderer:
    """Source: ``prompts`` §5.11. Laguna's tokens without the line breaks."""

    leading_bos = _BOS
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) == "system"
        turns = messages[1:] if has_system else messages
        out = [_BOS, _poolside_head(messages[0].content if has_system else _IDENTITY, tools, think)]
        prefill = is_prefill(turns)
        for i, message in enumerate(turns):
            match message.role:
                case "user" | "system":
                    out.append(f"<{message.role}>{message.content}</{message.role}>\n")
                case "tool":
                    out.append(f"<tool_response>{message.content}</tool_response>\n")
                case "assistant":
                    thoughts = f"<think>{message.thinking}" if think else ""
                    out.append(f"<assistant>{thoughts}</think>{message.content}")
                    out.extend(map(_poolside_call, message.tool_calls))
                    out.append("" if prefill and i == len(turns) - 1 else "</assistant>\n")
                case _:
                    pass
        if not prefill:
            out.append(f"<assistant>{'<think>' if think else '</think>'}")
        return "".join(out)


def _poolside_head(system: str, tools: Sequence[Tool], think: Think | None) -> str:
    system = system.rstrip(WHITE_SPACE)
    if not system and not tools and not think:
        return ""
    gap = "\n\n" if system and tools else ""
    return f"<system>{system}{gap}{_available(tools) if tools else ''}</system>\n"


def _poolside_call(call: ToolCall) -> str:
    arguments = "".join(
        f"<arg_key>{name}</arg_key><arg_value>{_value(value)}</arg_value>"
        for name, value in call.arguments.items()
    )
    return f"<tool_call>{call.name}{arguments}</tool_call>"
