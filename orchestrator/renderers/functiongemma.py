"""FunctionGemma: Gemma's turns, functions declared in its own notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Property, Tool
from orchestrator.domain.white_space import trim
from orchestrator.renderers.gemma_values import Notation
from orchestrator.renderers.turns import is_prefill, role_at

_NOTATION = Notation(quote="<escape>", null="<nil>")
_CAN_CALL = "You can do function calling with the following functions:"
_OPENER = "<start_function_response>"
_END = "<end_of_turn>\n"


class FunctionGemmaRenderer:
    """Source: ``prompts`` §5.5."""

    leading_bos = "<bos>"
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) in ("system", "developer")
        turns = messages[1:] if has_system else messages
        out = [self.leading_bos, _head(messages[0].content if has_system else "", tools)]
        prefill = is_prefill(turns)
        after_result = False
        for i, message in enumerate(turns):
            if message.role == "tool":
                opened = role_at(turns, i - 1) == "assistant" and turns[i - 1].tool_calls
                out.append("" if opened else _OPENER)
                out.append(f"response:{_called_name(turns, i)}{{{_NOTATION.text(message.content)}}}")
                out.append("<end_function_response>")
                after_result = True
                continue
            is_turn = message.role not in ("user", "assistant") or not after_result
            out.append(f"<start_of_turn>{_role(message)}\n" if is_turn else "")
            out.append(trim(message.content))
            if message.role == "assistant":
                out.extend(map(_call, message.tool_calls))
            if message.role == "assistant" and message.tool_calls and role_at(turns, i + 1) == "tool":
                out.append(_OPENER)
            elif not (prefill and i == len(turns) - 1):
                out.append(_END)
            after_result = after_result and message.role not in ("user", "assistant")
        if not prefill and not after_result:
            out.append("<start_of_turn>model\n")
        return "".join(out)


def _role(message: Message) -> str:
    return "model" if message.role == "assistant" else message.role


def _head(system: str, tools: Sequence[Tool]) -> str:
    if not system and not tools:
        return ""
    text = trim(system)
    if tools:
        text += "\n" if system else ""
        text += "" if trim(system) == _CAN_CALL else _CAN_CALL
        text += "".join(map(_declaration, tools))
    return f"<start_of_turn>developer\n{text}{_END}"


def _declaration(tool: Tool) -> str:
    function = tool.function
    parameters = _NOTATION.parameters(function.parameters, _properties)
    return (
        f"<start_function_declaration>declaration:{function.name}"
        f"{{description:{_NOTATION.text(function.description)}{parameters}}}<end_function_declaration>"
    )


def _properties(properties: Mapping[str, Property]) -> str:
    return ",".join(f"{name}:{{{_property(properties[name])}}}" for name in sorted(properties))


def _property(prop: Property) -> str:
    described = f"description:{_NOTATION.text(prop.description)}"
    return described + (f",type:{_NOTATION.text(prop.types[0].upper())}" if prop.types else "")


def _call(call: ToolCall) -> str:
    return f"<start_function_call>call:{call.name}{{{_NOTATION.members(call.arguments)}}}<end_function_call>"


def _called_name(turns: Sequence[Message], index: int) -> str:
    """The name of the call a result answers: by its place after the nearest calls."""
    place = 0
    for message in reversed(turns[:index]):
        if message.role == "tool":
            place += 1
        elif message.role == "assistant" and message.tool_calls:
            return message.tool_calls[place].name if place < len(message.tool_calls) else ""
    return ""
