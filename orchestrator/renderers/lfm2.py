"""LFM2: ChatML turns, calls written as Python."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.domain.white_space import trim
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.turns import last_index, role_at

_CALLS, _CALLS_END = "<|tool_call_start|>", "<|tool_call_end|>"
_RESULT, _RESULT_END = "<|tool_response_start|>", "<|tool_response_end|>"


class Lfm2Renderer:
    """Source: ``prompts`` §5.12. A ``thinking`` model shows past thoughts, if it shall think."""

    leading_bos = "<|startoftext|>"
    places_images = True

    def __init__(self, *, thinking: bool = False) -> None:
        self._thinking = thinking

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) == "system"
        turns = messages[1:] if has_system else messages
        tags = ImageTags()
        out = [self.leading_bos, _head(tags.tagged(messages[0]) if has_system else "", tools)]
        last_answer = last_index(turns, "assistant")
        for i, message in enumerate(turns):
            content = tags.tagged(message)
            if message.role == "tool" and _RESULT not in content:
                content = f"{_RESULT}{content}{_RESULT_END}"
            elif message.role == "assistant":
                content = self._answer(message, content)
                if i != last_answer and not (self._thinking and think) and "</think>" in content:
                    content = trim(content.rpartition("</think>")[2])
            out.append(f"<|im_start|>{message.role}\n{content}")
            if message.role == "assistant" and i == len(turns) - 1:
                return "".join(out)
            out.append("<|im_end|>\n")
        out.append("<|im_start|>assistant\n")
        return "".join(out)

    def _answer(self, message: Message, content: str) -> str:
        if message.tool_calls and _CALLS not in content:
            calls = f"{_CALLS}[{','.join(map(_call, message.tool_calls))}]{_CALLS_END}"
            content = f"{calls}\n{content}" if trim(content) else calls
        if self._thinking and message.thinking and "</think>" not in content:
            content = f"<think>{message.thinking}</think>{content}"
        return content


def _head(system: str, tools: Sequence[Tool]) -> str:
    text = system
    if tools:
        listed = ", ".join(map(_function, tools))
        text += ("\n" if system else "") + f"List of tools: <|tool_list_start|>[{listed}]<|tool_list_end|>"
    return f"<|im_start|>system\n{text}<|im_end|>\n" if text else ""


def _function(tool: Tool) -> str:
    return prompt_json.raw(prompt_json.escaped_properties(prompt_json.function_value(tool.function)))


def _call(call: ToolCall) -> str:
    arguments = ",".join(
        f"{name}={prompt_json.raw(prompt_json.sorted_keys(call.arguments[name]))}"
        for name in sorted(call.arguments)
    )
    return f"{call.name}({arguments})"
