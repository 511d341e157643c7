"""Cohere's Command models: turns of tokens, calls and results numbered through the conversation."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers.turns import role_at

_TURN = "<|START_OF_TURN_TOKEN|>"
_END = "<|END_OF_TURN_TOKEN|>"


class CohereRenderer:
    """Source: ``prompts`` §5.3. The tokenizer writes the BOS."""

    leading_bos = "<BOS_TOKEN>"
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) == "system"
        turns = messages[1:] if has_system else messages
        out = [_head(messages[0].content if has_system else "", tools)]
        numbers = _CallNumbers()
        for i, message in enumerate(turns):
            match message.role:
                case "system":
                    out.append(f"{_TURN}<|SYSTEM_TOKEN|>{_text(message.content)}{_END}")
                case "user":
                    out.append(f"{_TURN}<|USER_TOKEN|>{_text(message.content)}{_END}")
                case "assistant" | "chatbot" if message.tool_calls:
                    out.append(_actions(message, numbers.given(message.tool_calls)))
                case "assistant" | "chatbot":
                    thoughts = _thoughts(message.thinking)
                    out.append(f"{_TURN}<|CHATBOT_TOKEN|>{thoughts}<|START_TEXT|>{message.content}")
                    if i == len(turns) - 1:
                        return "".join(out)
                    out.append(f"<|END_TEXT|>{_END}")
                case "tool":
                    out.append(_result(turns, i, numbers.answered(message.tool_call_id)))
                case _:
                    pass
        out.append(f"{_TURN}<|CHATBOT_TOKEN|><|START_THINKING|>")
        out.append("" if think is None or think else "<|END_THINKING|>")
        return "".join(out)


class _CallNumbers:
    """Calls are numbered through the conversation; results name the number of their call."""

    def __init__(self) -> None:
        self._count = 0
        self._by_id: dict[str, str] = {}
        self._open: list[str] = []

    def given(self, calls: Sequence[ToolCall]) -> list[str]:
        """The numbers of the calls of a message; an id that comes again means its first call."""
        numbers = [str(self._count + i) for i in range(len(calls))]
        self._count += len(calls)
        for call, number in zip(calls, numbers, strict=True):
            if call.id:
                self._by_id.setdefault(call.id, number)
        self._open = list(numbers)
        return numbers

    def answered(self, call_id: str) -> str:
        """The number of the call a result belongs to: by its id, or the next one without a result."""
        next_open = self._open[0] if self._open else ""
        number = self._by_id.get(call_id, call_id) if call_id else next_open
        if number in self._open:
            self._open.remove(number)
        return number


def _text(content: str) -> str:
    return f"<|START_TEXT|>{content}<|END_TEXT|>"


def _thoughts(thinking: str) -> str:
    return f"<|START_THINKING|>{thinking}<|END_THINKING|>" if thinking else ""


def _head(system: str, tools: Sequence[Tool]) -> str:
    preamble = f"{system}\n\n\n\n" if system else ""
    listed = ",\n\n".join(f"\n    {_tool(tool)}" for tool in tools)
    available = f"# Available Tools\n```json\n[\n{listed}\n\n\n]\n```"
    return f"{_TURN}<|SYSTEM_TOKEN|>{_text(preamble + available)}{_END}"


def _tool(tool: Tool) -> str:
    function = prompt_json.function_value(tool.function, described=True)
    return prompt_json.spaced({**function, "responses": None})


def _actions(message: Message, numbers: Sequence[str]) -> str:
    listed = ",".join(
        f"\n\n    {_action(call, number)}" for call, number in zip(message.tool_calls, numbers, strict=True)
    )
    return (
        f"{_TURN}<|CHATBOT_TOKEN|>\n{' ' * 12}\n{' ' * 16}{_thoughts(message.thinking)}"
        f"<|START_ACTION|>[{listed}\n\n]<|END_ACTION|>{_END}"
    )


def _action(call: ToolCall, number: str) -> str:
    return prompt_json.spaced(
        {
            "tool_call_id": number,
            "tool_name": call.name,
            "parameters": prompt_json.arguments(call.arguments),
        }
    )


def _result(turns: Sequence[Message], index: int, number: str) -> str:
    """A tool result; neighbours share one turn."""
    opening = ","
    if role_at(turns, index - 1) != "tool":
        opening = f"{_TURN}<|SYSTEM_TOKEN|><|START_TOOL_RESULT|>["
    closing = ""
    if role_at(turns, index + 1) != "tool":
        closing = f"\n\n]<|END_TOOL_RESULT|>{_END}"
    entry = (
        "\n    {\n"
        f'        "tool_call_id": {prompt_json.quoted(number)},\n'
        '        "results": {\n\n            \n'
        f'            "0": {{"content": {prompt_json.quoted(turns[index].content)}}}\n\n'
        "        },\n"
        '        "is_error": null\n'
        "    }"
    )
    return opening + entry + closing
