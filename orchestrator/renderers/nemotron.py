"""Nemotron 3 Nano: ChatML turns, tools and calls as nested tags with Python's spelling of values.

Source: ``prompts`` §5.13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.domain.white_space import trim
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.turns import is_prefill, last_index, role_at
from orchestrator.renderers.xml_calls import call_text, tools_section

_ON, _OFF = "/think", "/no_think"
_MEDIUM_EFFORT = "\n\n{reasoning effort: efficient}"


class NemotronRenderer:
    """Version 3. ``/think`` and ``/no_think`` in the texts switch reasoning."""

    leading_bos = ""
    places_images = True

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) == "system"
        turns = messages[1:] if has_system else messages
        tags = ImageTags()
        system = self._text(tags.tagged(messages[0])) if has_system else ""
        thinks = self._thinks(messages, think)
        out = [_head(system, tools)]
        last_user = last_index(turns, "user")
        prefill = is_prefill(turns)
        for i, message in enumerate(turns):
            match message.role:
                case "assistant":
                    out.append(self._answer(message, tags.tagged(message), truncated=i < last_user))
                    out.append("" if prefill and i == len(turns) - 1 else "<|im_end|>\n")
                case "tool":
                    out.append(_result(turns, i, tags.tagged(message), first=not has_system and i == 0))
                case "user" | "system":
                    text = self._turn_text(tags.tagged(message))
                    text += self._effort(think) if i == last_user else ""
                    out.append(f"<|im_start|>{message.role}\n{text}<|im_end|>\n")
                case role:
                    out.append(f"<|im_start|>{role}\n{tags.tagged(message)}<|im_end|>\n")
        if not prefill:
            out.append(f"<|im_start|>assistant\n{'<think>' + chr(10) if thinks else '<think></think>'}")
        return "".join(out)

    def _thinks(self, messages: Sequence[Message], think: Think | None) -> bool:
        thinks = think is None or bool(think)
        for message in messages:
            if message.role not in ("user", "system"):
                continue
            text = message.content.replace("</think>", "")
            if _ON in text:
                thinks = True
            elif _OFF in text:
                thinks = False
        return thinks

    def _text(self, text: str) -> str:
        """A text without the switches."""
        parts = text.split("</think>")
        return "</think>".join(part.replace(_ON, "").replace(_OFF, "") for part in parts)

    def _turn_text(self, text: str) -> str:
        return trim(self._text(text))

    def _effort(self, think: Think | None) -> str:
        return ""

    def _thoughts(self, thinking: str) -> str:
        return f"<think>\n{thinking}\n</think>\n"

    def _answer(self, message: Message, content: str, *, truncated: bool) -> str:
        body = content
        if message.thinking:
            body = self._thoughts(message.thinking) + body
        elif "<think>" not in body and "</think>" not in body:
            body = "<think></think>" + body
        if truncated:
            body = _without_thoughts(body, has_calls=bool(message.tool_calls))
        calls = "".join(f"{call_text(call, _argument)}\n" for call in message.tool_calls)
        return f"<|im_start|>assistant\n{trim(body)}" + (f"\n{calls}" if calls else "")


class Nemotron35Renderer(NemotronRenderer):
    """Version 3.5. Texts stay as they are; a medium effort is asked for in words."""

    def _thinks(self, messages: Sequence[Message], think: Think | None) -> bool:
        return think is None or bool(think)

    def _text(self, text: str) -> str:
        return text

    def _turn_text(self, text: str) -> str:
        return text

    def _effort(self, think: Think | None) -> str:
        return _MEDIUM_EFFORT if think is not None and think.word == "medium" else ""

    def _thoughts(self, thinking: str) -> str:
        return f"<think>\n{thinking}</think>"


def _without_thoughts(body: str, *, has_calls: bool) -> str:
    """The text of an earlier turn with its thoughts emptied."""
    if has_calls:
        rest = body.rpartition("</think>")[2] if "</think>" in body else body.partition("<think>")[0]
        return f"<think></think>{trim(rest)}"
    if "<think>" in body and "</think>" in body:
        return f"<think></think>{body.rpartition('</think>')[2]}"
    return body


def _result(turns: Sequence[Message], index: int, content: str, *, first: bool) -> str:
    """A tool result; neighbours share one turn of the user."""
    opening = "" if first or role_at(turns, index - 1) == "tool" else "<|im_start|>user\n"
    closing = "" if role_at(turns, index + 1) == "tool" else "<|im_end|>\n"
    return f"{opening}<tool_response>\n{content}\n</tool_response>\n{closing}"


def _head(system: str, tools: Sequence[Tool]) -> str:
    text = system
    if tools:
        text += "\n\n" if system else ""
        text += tools_section("".join(map(_function, tools)))
    return f"<|im_start|>system\n{text}<|im_end|>\n"


def _function(tool: Tool) -> str:
    function = tool.function
    description = f"\n<description>{trim(function.description)}</description>" if function.description else ""
    schema = prompt_json.parameters_value(function.parameters)
    parameters = "".join(_parameter(name, prop) for name, prop in (schema["properties"] or {}).items())
    more = "".join(f"\n<{key}>{python(schema[key])}</{key}>" for key in ("$defs", "items") if key in schema)
    required = f"\n<required>{python(schema['required'])}</required>" if "required" in schema else ""
    return (
        f"\n<function>\n<name>{function.name}</name>{description}\n<parameters>{parameters}{more}{required}"
        "\n</parameters>\n</function>"
    )


def _parameter(name: str, prop: Mapping[str, Any]) -> str:
    out = [f"\n<parameter>\n<name>{name}</name>"]
    if "type" in prop:
        types = prop["type"]
        shown = types if isinstance(types, str) else f"[{', '.join(repr(word) for word in types)}]"
        out.append(f"\n<type>{shown}</type>")
    if "description" in prop:
        out.append(f"\n<description>{trim(prop['description'])}</description>")
    out.extend(
        f"\n<{key}>{python(prop[key])}</{key}>"
        for key in ("enum", "anyOf", "items", "properties", "required")
        if key in prop
    )
    out.append("\n</parameter>")
    return "".join(out)


def _argument(value: Any) -> str:
    match value:
        case dict() | list():
            return python(prompt_json.sorted_keys(value))
        case bool() | None:
            return str(value)
        case _:
            return prompt_json.scalar(value)


_ESCAPES = {
    '"': r"\"", "\\": r"\\", "\n": r"\n", "\t": r"\t", "\r": r"\r",
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\v": r"\v",
}  # fmt: skip


def python(value: Any) -> str:
    """A value in a spelling between JSON and Python: JSON's words, Go's escapes."""
    match value:
        case str():
            return f'"{"".join(map(_escaped, value))}"'
        case Mapping():
            return f"{{{', '.join(f'{python(key)}: {python(member)}' for key, member in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(python, value))}]"
        case _:
            return prompt_json.compact(value)


def _escaped(character: str) -> str:
    if (short := _ESCAPES.get(character)) is not None:
        return short
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
