"""GLM 4.7 and GLM-OCR: role tokens, calls as keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.domain.white_space import trim
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.turns import is_prefill, role_at

_HEAD = "[gMASK]<sop>"
_TOOLS = """\
<|system|>
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
"""
_HOW_TO_CALL = (
    "</tools>\n\n"
    "For each function call, output the function name and arguments within the following XML format:\n"
    "<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value>"
    "<arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>"
)
_NO_THINK = "/nothink"


class Glm47Renderer:
    """Source: ``prompts`` §5.8."""

    leading_bos = ""
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        out = [_HEAD, _tools(tools)]
        for i, message in enumerate(messages):
            match message.role:
                case "system" | "user":
                    out.append(f"<|{message.role}|>{message.content}")
                case "assistant":
                    thoughts = f"<think>{message.thinking}" if message.thinking else ""
                    out.append(f"<|assistant|>{thoughts}</think>{message.content}")
                    out.extend(map(_call, message.tool_calls))
                case "tool":
                    out.append("" if role_at(messages, i - 1) == "tool" else "<|observation|>")
                    out.append(f"<tool_response>{message.content}</tool_response>")
                case _:
                    pass
        if not is_prefill(messages):
            out.append(f"<|assistant|>{'<think>' if think is None or think else '</think>'}")
        return "".join(out)


class GlmOcrRenderer:
    """Source: ``prompts`` §5.9."""

    leading_bos = ""
    places_images = True

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        must_not_think = think is not None and not think
        out = [_HEAD, _tools(tools)]
        tags = ImageTags()
        prefill = is_prefill(messages)
        for i, message in enumerate(messages):
            match message.role:
                case "system":
                    out.append(f"<|system|>\n{tags.tagged(message)}\n")
                case "user":
                    switch = _NO_THINK if must_not_think and not message.content.endswith(_NO_THINK) else ""
                    out.append(f"<|user|>\n{tags.tagged(message)}{switch}")
                case "assistant":
                    out.append(_answer(message, tags.tagged(message)))
                    out.append("" if prefill and i == len(messages) - 1 else "\n")
                case "tool":
                    out.append("" if role_at(messages, i - 1) == "tool" else "<|observation|>")
                    out.append(f"\n<tool_response>\n{tags.tagged(message)}\n</tool_response>\n")
                case _:
                    pass
        if not prefill:
            out.append("<|assistant|>\n")
            out.append("<think></think>\n" if must_not_think else "")
        return "".join(out)


def _answer(message: Message, content: str) -> str:
    content = f"\n{trim(content)}" if content else ""
    calls = "".join(f"\n{_call(call)}" for call in message.tool_calls)
    return f"<|assistant|>\n<think>{trim(message.thinking)}</think>{content}{calls}"


def _tools(tools: Sequence[Tool]) -> str:
    if not tools:
        return ""
    listed = "".join(f"{prompt_json.spaced(prompt_json.tool_value(tool))}\n" for tool in tools)
    return f"{_TOOLS}{listed}{_HOW_TO_CALL}"


def _call(call: ToolCall) -> str:
    arguments = "".join(
        f"<arg_key>{name}</arg_key><arg_value>{_value(value)}</arg_value>"
        for name, value in call.arguments.items()
    )
    return f"<tool_call>{call.name}{arguments}</tool_call>"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else prompt_json.compact(prompt_json.sorted_keys(value))
