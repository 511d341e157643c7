"""Glimmer: messages addressed to recipients, a reasoning strength in the system message.

Source: ``prompts`` §5.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.turns import is_prefill, role_at

_STRENGTH_WORDS = {
    "Reasoning effort": "Reasoning strength",
    "Reasoning Effort": "Reasoning Strength",
    "reasoning effort": "reasoning strength",
    "REASONING EFFORT": "REASONING STRENGTH",
}
_HOW_TO_CALL = """\
In this environment you have access to a set of tools you can use to answer the user's question.

You can invoke a function by writing a "<atem:function_calls>" block like the following:
<atem:function_calls>
<atem:invoke name="$FUNCTION_NAME">
<atem:parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</atem:parameter>
...
</atem:invoke>
</atem:function_calls>

String and scalar parameters should be specified as is, while lists and objects should use JSON format. \
Note that spaces for string values are not stripped. \
The output is not expected to be valid XML and is parsed with regular expressions.
Here are the functions available in JSONSchema format:
// Tool metadata
"""
_EXAMPLE_CALL = """

Here's an example of how to call a function in the tool set:
(If the tool namespace is not specified, invoke the function directly as `example_function_name` \
rather than `example_tool_name.example_function_name`)

to=example_tool_name.example_function_name

<atem:function_calls>
<atem:invoke name="example_tool_name.example_function_name">
<atem:parameter name="example_parameter_1">value_1</atem:parameter>
<atem:parameter name="example_parameter_2">This is the value for the second parameter
that can span
"multiple" lines
</atem:parameter>
</atem:invoke>
</atem:function_calls>"""


class GlimmerRenderer:
    """Past thoughts are always shown."""

    leading_bos = "<|begin_of_text|>"
    places_images = True

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        strength = _strength(think)
        out = [self.leading_bos]
        if not any(message.role == "system" for message in messages):
            out.append(_system(_default_text(), tools, strength))
        tags = ImageTags()
        names: dict[str, str] = {}
        prefill = is_prefill(messages)
        for i, message in enumerate(messages):
            content = tags.tagged(message)
            match message.role:
                case "system":
                    out.append(_system(_with_strength(content), tools, strength))
                case "user":
                    out.append(f"<|start|>user<|message|>{content}<|eot|>")
                case "assistant":
                    names |= {call.id: call.name for call in message.tool_calls if call.id}
                    out.append(_answer(message, content, role_at(messages, i + 1)))
                case "tool":
                    name = message.tool_name or names.get(message.tool_call_id, message.tool_call_id)
                    out.append(
                        f'<|start|>tool {name}<|message|><tool_output name="{name}">\n'
                        f"{content}\n</tool_output><|eot|>"
                    )
                case _:
                    pass
        if prefill:
            return "".join(out).removesuffix("<|eot|>")
        return "".join(out) + "<|start|>assistant"


def _strength(think: Think | None) -> str:
    if think is None:
        return "high"
    return think.word or ("high" if think else "none")


def _default_text() -> str:
    return (
        "You are a helpful AI assistant.\nKnowledge cutoff: 2026-01-04."
        f"\nCurrent date: {date.today().isoformat()}."
    )


def _with_strength(text: str) -> str:
    for effort, strength in _STRENGTH_WORDS.items():
        text = text.replace(effort, strength)
    return text


def _system(text: str, tools: Sequence[Tool], strength: str) -> str:
    if "reasoning strength" not in text.lower():
        text += f"\n\nReasoning strength: {strength}."
    namespaces = list(dict.fromkeys(_namespace(tool) for tool in tools))
    if tools:
        text += f"\n\n{_definitions(tools, namespaces)}"
    recipients = ", ".join(('"self"', *(f'"{name}.*"' for name in namespaces), '"user"'))
    return f"<|start|>system<|message|>{text}\n\n# Valid recipients: {recipients}.<|eot|>"


def _namespace(tool: Tool) -> str:
    return tool.function.name.partition(".")[0]


def _definitions(tools: Sequence[Tool], namespaces: Sequence[str]) -> str:
    metadata = "".join(f"{prompt_json.raw({'name': name, 'description': ''})}\n" for name in namespaces)
    schemas = "".join(f"\n{prompt_json.raw(function)}" for function in map(_function, tools))
    return f"{_HOW_TO_CALL}{metadata}// Function schemas{schemas}{_EXAMPLE_CALL}"


def _function(tool: Tool) -> dict[str, Any]:
    return prompt_json.escaped_properties(prompt_json.function_value(tool.function, described=True))


def _answer(message: Message, content: str, following: str) -> str:
    out: list[str] = []
    if message.thinking:
        out.append(f"<|start|>assistant to=self<|message|>{message.thinking}<|eom|>")
    if message.tool_calls:
        out.append("<|eom|>".join(map(_call, message.tool_calls)))
        out.append("<|eom|>" if following == "assistant" else "<|eot|>")
    elif content or not message.thinking:
        out.append(f"<|start|>assistant to=user<|message|>{content}<|eot|>")
    return "".join(out)


def _call(call: ToolCall) -> str:
    parameters = "".join(
        f'<atem:parameter name="{name}">{_value(value)}</atem:parameter>\n'
        for name, value in call.arguments.items()
    )
    return (
        f"<|start|>assistant to={call.name}<|message|><atem:function_calls>\n"
        f'<atem:invoke name="{call.name}">\n{parameters}</atem:invoke>\n</atem:function_calls>'
    )


def _value(value: Any) -> str:
    if isinstance(value, dict | list):
        return prompt_json.raw(prompt_json.sorted_keys(value))
    return prompt_json.scalar(value)
