"""Qwen3-Coder: ChatML turns, tools and calls as nested tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers.turns import role_at
from orchestrator.renderers.xml_calls import call_text, tools_section, value_text

_IDENTITY = "You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks."


class Qwen3CoderRenderer:
    """Source: ``prompts`` §5.16."""

    leading_bos = ""
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        system = next((m.content for m in messages if m.role == "system" and m.content), "")
        turns = [message for message in messages if message.role != "system"]
        out = [_head(system, tools)]
        for i, message in enumerate(turns):
            match message.role:
                case "assistant":
                    out.append(_answer(message))
                    is_open = i == len(turns) - 1 and not message.tool_calls
                    out.append("" if is_open else "<|im_end|>\n")
                case "tool":
                    out.append(tool_turn(turns, i, message.content))
                case _:
                    out.append(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n")
        if turns and turns[-1].role != "assistant":
            out.append("<|im_start|>assistant\n")
        return "".join(out)


def tool_turn(turns: Sequence[Message], index: int, content: str) -> str:
    """A tool result; neighbours share one turn of the user."""
    opening = "" if role_at(turns, index - 1) == "tool" else "<|im_start|>user"
    closing = "" if role_at(turns, index + 1) == "tool" else "<|im_end|>\n"
    return f"{opening}\n<tool_response>\n{content}\n</tool_response>{closing}"


def _head(system: str, tools: Sequence[Tool]) -> str:
    if not system and not tools:
        return ""
    text = system or _IDENTITY
    if tools:
        text += f"\n\n{tools_section(''.join(map(_function, tools)))}"
    return f"<|im_start|>system\n{text}<|im_end|>\n"


def _function(tool: Tool) -> str:
    function = tool.function
    description = f"\n<description>{function.description}</description>" if function.description else ""
    parameters = prompt_json.parameters_value(function.parameters)
    listed = "".join(_parameter(name, prop) for name, prop in (parameters["properties"] or {}).items())
    more = _members(parameters, leave_out=("type", "properties"))
    return (
        f"\n<function>\n<name>{function.name}</name>{description}\n<parameters>{listed}{more}"
        "\n</parameters>\n</function>"
    )


def _parameter(name: str, prop: Mapping[str, Any]) -> str:
    types = _members({"type": prop["type"]}) if "type" in prop else ""
    description = f"\n<description>{prop['description']}</description>" if "description" in prop else ""
    more = _members(prop, leave_out=("type", "description"))
    return f"\n<parameter>\n<name>{name}</name>{types}{description}{more}\n</parameter>"


def _members(schema: Mapping[str, Any], leave_out: Iterable[str] = ()) -> str:
    """Members of a schema as tags, null left out."""
    return "".join(
        f"\n<{key}>{value_text(value)}</{key}>"
        for key, value in schema.items()
        if key not in leave_out and value is not None
    )


def _answer(message: Message) -> str:
    if not message.tool_calls:
        return f"<|im_start|>assistant\n{message.content}"
    content = f"{message.content}\n" if message.content else ""
    calls = "".join(f"\n{call_text(call)}" for call in message.tool_calls)
    return f"<|im_start|>assistant\n{content}{calls}"
