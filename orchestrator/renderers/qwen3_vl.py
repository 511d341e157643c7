"""Qwen3-VL: ChatML turns, tools and calls as JSON, images in the text."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.qwen3_coder import tool_turn
from orchestrator.renderers.turns import role_at

_TOOLS = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
"""
_HOW_TO_CALL = """
</tools>

For each function call, return a json object with function name and arguments \
within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""


class Qwen3VlRenderer:
    """Source: ``prompts`` §5.17. A ``thinking`` model thinks unless it is told not to."""

    leading_bos = ""
    places_images = True

    def __init__(self, *, thinking: bool = False) -> None:
        self._thinking = thinking

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        thinks = self._thinking if think is None else bool(think)
        has_system = role_at(messages, 0) == "system"
        tags = ImageTags()
        out = [_head(tags.tagged(messages[0]) if has_system else None, tools)]
        turns = messages[1:] if has_system else messages
        last_query = last_query_index(turns, [message.content for message in turns])
        for i, message in enumerate(turns):
            content = tags.tagged(message)
            is_last = i == len(turns) - 1
            match message.role:
                case "assistant":
                    shows = thinks and i > last_query and (is_last or message.thinking != "")
                    out.append(_answer(message, content, shows_thoughts=shows))
                    out.append("" if is_last else "<|im_end|>\n")
                case "tool":
                    out.append(tool_turn(turns, i, content))
                case "user" | "system":
                    out.append(f"<|im_start|>{message.role}\n{content}<|im_end|>\n")
                case _:
                    pass
        if messages and messages[-1].role != "assistant":
            out.append(f"<|im_start|>assistant\n{'<think>' + chr(10) if thinks else ''}")
        return "".join(out)


def last_query_index(turns: Sequence[Message], texts: Sequence[str]) -> int:
    """Where the user last said something; tool results in a user's message are not his words."""
    for i in range(len(turns) - 1, -1, -1):
        if turns[i].role == "user" and not is_tool_response(texts[i]):
            return i
    return len(turns) - 1


def is_tool_response(text: str) -> bool:
    """Whether a text is nothing but a tool's result."""
    return text.startswith("<tool_response>") and text.endswith("</tool_response>")


def _head(system: str | None, tools: Sequence[Tool]) -> str:
    if not tools:
        return "" if system is None else f"<|im_start|>system\n{system}<|im_end|>\n"
    before = "" if system is None else f"{system}\n\n"
    listed = "\n".join(prompt_json.spaced(prompt_json.tool_value(tool)) for tool in tools)
    return f"<|im_start|>system\n{before}{_TOOLS}{listed}{_HOW_TO_CALL}<|im_end|>\n"


def _answer(message: Message, content: str, *, shows_thoughts: bool) -> str:
    text = content
    if shows_thoughts:
        thoughts = message.thinking.strip("\n")
        closes = content != "" or bool(message.tool_calls)
        closing = "\n</think>\n\n" if closes else ""
        text = f"<think>\n{thoughts}{closing}" + content.lstrip("\n")
    calls = "".join(("\n" if content or i else "") + _call(call) for i, call in enumerate(message.tool_calls))
    return f"<|im_start|>assistant\n{text}{calls}"


def _call(call: ToolCall) -> str:
    arguments = prompt_json.spaced(prompt_json.arguments(call.arguments))
    name = prompt_json.quoted_raw(call.name)
    return f'<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>'
