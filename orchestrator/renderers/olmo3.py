"""Olmo 3: ChatML turns, functions in the system message, calls written as Python."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers.turns import is_prefill

IDENTITY_3 = "You are a helpful function-calling AI assistant. "
IDENTITY_31 = (
    "You are Olmo, a helpful AI assistant built by Ai2. Your date cutoff is December 2024, "
    "and your model weights are available at https://huggingface.co/allenai. "
)
IDENTITY_32B_THINK = "You are a helpful AI assistant."
_NO_FUNCTIONS = "You do not currently have access to any functions. <functions></functions>"
_HOW_TO_CALL = (
    "You are provided with function signatures within <functions></functions> XML tags. "
    "You may call one or more functions to assist with the user query. "
    "Output any function calls within <function_calls></function_calls> XML tags. "
    "Do not make assumptions about what values to plug into functions."
)


class Olmo3Renderer:
    """Source: ``prompts`` §5.14. ``identity`` is the system text of conversations without one."""

    leading_bos = ""
    places_images = False

    def __init__(self, *, identity: str) -> None:
        self._identity = identity

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        out = [_turn("system", self._system(_first_system(messages), tools))]
        turns = [message for message in messages if message.role != "system"]
        for i, message in enumerate(turns):
            match message.role:
                case "user":
                    out.append(_turn("user", message.content))
                case "tool":
                    out.append(_turn("environment", message.content))
                case "assistant":
                    out.append(f"<|im_start|>assistant\n{message.content}{_calls(message.tool_calls)}")
                    if i == len(turns) - 1 and not message.tool_calls:
                        return "".join(out)
                    out.append("<|im_end|>\n")
                case _:
                    pass
        out.append("<|im_start|>assistant\n")
        return "".join(out)

    def _system(self, system: str | None, tools: Sequence[Tool]) -> str:
        functions = prompt_json.spaced([prompt_json.tool_value(tool) for tool in tools])
        if system is not None:
            return f"{system}<functions>{functions}</functions>" if tools else system
        if tools:
            return f"{self._identity}{_HOW_TO_CALL}<functions>{functions}</functions>"
        return f"{self._identity}{_NO_FUNCTIONS}"


class Olmo3ThinkRenderer:
    """Source: ``prompts`` §5.15. Knows no tools and always thinks."""

    leading_bos = ""
    places_images = False

    def __init__(self, *, identity: str) -> None:
        self._identity = identity

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        system = _first_system(messages)
        out = [_turn("system", self._identity if system is None else f"{system} {_NO_FUNCTIONS}")]
        turns = [message for message in messages if message.role in ("user", "assistant")]
        out.extend(_turn(message.role, message.content) for message in turns)
        if is_prefill(messages):
            return "".join(out).removesuffix("<|im_end|>\n")
        out.append("<|im_start|>assistant\n<think>")
        return "".join(out)


def _first_system(messages: Sequence[Message]) -> str | None:
    return next((message.content for message in messages if message.role == "system"), None)


def _turn(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def _calls(calls: Sequence[ToolCall]) -> str:
    if not calls:
        return ""
    return f"<function_calls>{chr(10).join(map(_call, calls))}</function_calls>"


def _call(call: ToolCall) -> str:
    arguments = ", ".join(
        f"{name}={prompt_json.compact(prompt_json.sorted_keys(call.arguments[name]))}"
        for name in sorted(call.arguments)
    )
    return f"{call.name}({arguments})"


def olmo3() -> Olmo3Renderer:
    """The renderer ``olmo3``."""
    return Olmo3Renderer(identity=IDENTITY_3)


def olmo31() -> Olmo3Renderer:
    """The renderer ``olmo3.1``."""
    return Olmo3Renderer(identity=IDENTITY_31)


def olmo3_think() -> Olmo3ThinkRenderer:
    """The renderer ``olmo3-think``."""
    return Olmo3ThinkRenderer(identity=IDENTITY_31.rstrip())


def olmo3_32b_think() -> Olmo3ThinkRenderer:
    """The renderer ``olmo3-32b-think``."""
    return Olmo3ThinkRenderer(identity=IDENTITY_32B_THINK)
