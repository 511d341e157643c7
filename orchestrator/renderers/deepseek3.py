"""DeepSeek 3.1: one model that thinks or answers at once, as the last token of the prompt says."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers.turns import last_index

_END = "<｜end▁of▁sentence｜>"
_HOW_TO_CALL = """
IMPORTANT: ALWAYS adhere to this exact format for tool use:
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>tool_call_arguments<｜tool▁call▁end｜>\
{{additional_tool_calls}}<｜tool▁calls▁end｜>

Where:

- `tool_call_name` must be an exact match to one of the available tools
- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema
- For multiple tool calls, chain them directly without separators or spaces
"""


class DeepSeek31Renderer:
    """Source: ``prompts`` §5.4. A conversation that ends with an answer is left open."""

    leading_bos = "<｜begin▁of▁sentence｜>"
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        out = [self.leading_bos, system, _tools(tools)]
        turns = [message for message in messages if message.role in ("user", "assistant", "tool")]
        last_user = last_index(turns, "user")
        before = ""
        for i, message in enumerate(turns):
            if message.role == "user":
                out.append(f"<｜User｜>{message.content}")
            elif message.role == "tool":
                out.append(f"<｜tool▁output▁begin｜>{message.content}<｜tool▁output▁end｜>")
            else:
                thinks = bool(message.thinking and think and i > last_user)
                out.append(_answer(message, before, thinks=thinks))
                is_open = i == len(turns) - 1 and messages[-1] is message and not message.tool_calls
                out.append("" if is_open else _END)
            before = message.role
        if before == "user":
            out.append(f"<｜Assistant｜>{'<think>' if think else '</think>'}")
        return "".join(out)


def _answer(message: Message, before: str, *, thinks: bool) -> str:
    if message.tool_calls:
        opening = "<｜Assistant｜></think>" if before == "user" else ""
        calls = "".join(map(_call, message.tool_calls))
        return f"{opening}{message.content}<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>"
    if before == "tool":
        return message.content
    opening = f"<｜Assistant｜>{'<think>' if thinks else '</think>'}" if before == "user" else ""
    before_close, close, after_close = message.content.partition("</think>")
    return opening + (after_close if close else before_close)


def _call(call: ToolCall) -> str:
    arguments = prompt_json.compact(prompt_json.arguments(call.arguments))
    return f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>"


def _tools(tools: Sequence[Tool]) -> str:
    if not tools:
        return ""
    listed = "".join(map(_tool, tools))
    return f"\n\n## Tools\nYou have access to the following tools:\n{listed}{_HOW_TO_CALL}"


def _tool(tool: Tool) -> str:
    function = tool.function
    parameters = prompt_json.compact(prompt_json.parameters_value(function.parameters))
    return f"\n### {function.name}\nDescription: {function.description}\n\nParameters: {parameters}\n"
