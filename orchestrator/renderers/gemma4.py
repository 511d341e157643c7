"""Gemma 4: one turn of the model holds its thoughts, calls, their results and its answer.

Source: ``prompts`` §5.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Parameters, Property, Tool
from orchestrator.domain.white_space import trim
from orchestrator.renderers.gemma_values import Notation
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.turns import is_prefill, last_index, role_at

_NOTATION = Notation(quote='<|"|>', null="null")
_CHANNEL = re.compile(r"<\|channel>.*?(?:<channel\|>|\Z)", re.DOTALL)
_END = "<turn|>\n"


class Gemma4Renderer:
    """``large`` models write an empty thought when they do not think."""

    leading_bos = "<bos>"
    places_images = True

    def __init__(self, *, large: bool = False) -> None:
        self._large = large

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) in ("system", "developer")
        out = [self.leading_bos]
        tags = ImageTags()
        if has_system or tools or think:
            system = _tagged(tags, messages[0], messages[0].content) if has_system else ""
            switch = "<|think|>\n" if think else ""
            out.append(f"<|turn>system\n{switch}{system}{''.join(map(_declaration, tools))}{_END}")
        turns = messages[1:] if has_system else messages
        out.extend(_Conversation(turns, tags).write())
        if not is_prefill(turns):
            out.append(self._generation(turns, thinks=bool(think)))
        return "".join(out)

    def _generation(self, turns: Sequence[Message], *, thinks: bool) -> str:
        last = max((i for i, message in enumerate(turns) if message.role != "tool"), default=-1)
        if last < 0 or turns[last].role != "assistant" or not turns[last].tool_calls:
            no_thought = "<|channel>thought\n<channel|>" if self._large and not thinks else ""
            return f"<|turn>model\n{no_thought}"
        return "<|channel>thought\n" if thinks and last < len(turns) - 1 else ""


class _Conversation:
    """The turns after the system's."""

    def __init__(self, turns: Sequence[Message], tags: ImageTags) -> None:
        self.turns = turns
        self.tags = tags
        self.last_user = last_index(turns, "user")

    def write(self) -> Iterable[str]:
        spoken = [i for i, message in enumerate(self.turns) if message.role != "tool"]
        before = ""
        for place, i in enumerate(spoken):
            message = self.turns[i]
            after = role_at(self.turns, spoken[place + 1]) if place + 1 < len(spoken) else ""
            if not message.role == before == "assistant":
                yield f"<|turn>{'model' if message.role == 'assistant' else message.role}\n"
            if message.role == "assistant":
                yield from self.answer(i, after)
            else:
                yield _tagged(self.tags, message, message.content) + _END
            before = message.role

    def answer(self, index: int, after: str) -> Iterable[str]:
        message = self.turns[index]
        if message.thinking and index > self.last_user:
            yield f"<|channel>thought\n{message.thinking}\n<channel|>"
        for call in message.tool_calls:
            yield f"<|tool_call>call:{call.name}{{{_NOTATION.members(call.arguments)}}}<tool_call|>"
        results = self.results(index) if message.tool_calls else []
        yield from results
        content = _tagged(self.tags, message, _CHANNEL.sub("", message.content))
        yield content
        if message.tool_calls and not results:
            yield "<|tool_response>"
        elif after == "assistant" or (results and not content and not after):
            return
        elif after or not is_prefill(self.turns):
            yield _END

    def results(self, index: int) -> list[str]:
        """What the tools gave, as far as it follows the calls directly."""
        names = {call.id: call.name for call in self.turns[index].tool_calls if call.id}
        found: list[str] = []
        for message in self.turns[index + 1 :]:
            if message.role != "tool":
                break
            name = names.get(message.tool_call_id) or message.tool_name or "unknown"
            value = _NOTATION.text(self.tags.tagged(message))
            found.append(f"<|tool_response>response:{name}{{value:{value}}}<tool_response|>")
        return found


def _tagged(tags: ImageTags, message: Message, content: str) -> str:
    """A text trimmed before the tags of the message's images go in."""
    return tags.tagged(replace(message, content=trim(content)))


# -- declarations


def _declaration(tool: Tool) -> str:
    function = tool.function
    description = _NOTATION.text(function.description)
    parameters = _parameters(function.parameters)
    return f"<|tool>declaration:{function.name}{{description:{description}{parameters}}}<tool|>"


def _parameters(parameters: Parameters) -> str:
    if parameters.properties is None and not parameters.type:
        return ""
    parts: list[str] = []
    if parameters.properties:
        parts.append(f"properties:{{{_properties(parameters.properties)}}}")
    if parameters.required:
        parts.append(f"required:{_NOTATION.texts(parameters.required)}")
    if parameters.type:
        parts.append(f"type:{_NOTATION.text(parameters.type.upper())}")
    return f",parameters:{{{','.join(parts)}}}"


def _properties(properties: Mapping[str, Property] | None) -> str:
    properties = properties or {}
    return ",".join(f"{name}:{{{_property(properties[name])}}}" for name in sorted(properties))


def _property(prop: Property) -> str:
    types = [name.upper() for name in prop.types or _branch_types(prop)]
    first = types[0] if types else ""
    parts: list[str] = []
    if prop.description:
        parts.append(f"description:{_NOTATION.text(prop.description)}")
    if first == "STRING" and prop.enum:
        parts.append(f"enum:{_NOTATION.texts(_words(prop.enum))}")
    if first == "ARRAY" and prop.items:
        parts.append(f"items:{{{_items(prop.items)}}}")
    if first == "OBJECT":
        parts.append(f"properties:{{{_properties(prop.properties)}}}")
        if prop.required:
            parts.append(f"required:{_NOTATION.texts(prop.required)}")
    if len(types) == 1:
        parts.append(f"type:{_NOTATION.text(first)}")
    elif types:
        listed = ", ".join(f"'{name}'" for name in types)
        parts.append(f"type:{_NOTATION.text(f'[{listed}]')}")
    return ",".join(parts)


def _branch_types(prop: Property) -> tuple[str, ...]:
    """The types of the branches of ``anyOf``, if they are nothing but types."""
    if all(branch == Property(types=branch.types) for branch in prop.any_of):
        return tuple(name for branch in prop.any_of for name in branch.types)
    return ()


# -- below ``items`` schemas are whatever the client sent


def _items(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    return ",".join(f"{key}:{_item_member(key, schema[key])}" for key in sorted(schema))


def _item_member(key: str, value: Any) -> str:
    match key, value:
        case "properties", Mapping():
            return f"{{{_free_properties(value)}}}"
        case "required", list():
            return _NOTATION.texts(_words(value))
        case "type", str() | list():
            return _free_type(value)
        case _:
            return _quoted_keys(value)


def _quoted_keys(value: Any) -> str:
    match value:
        case Mapping():
            members = (f"{_NOTATION.text(key)}:{_quoted_keys(value[key])}" for key in sorted(value))
            return f"{{{','.join(members)}}}"
        case list():
            return f"[{','.join(map(_quoted_keys, value))}]"
        case _:
            return _NOTATION.value(value)


def _free_properties(properties: Mapping[str, Any]) -> str:
    schemas = {name: schema for name, schema in properties.items() if isinstance(schema, Mapping)}
    return ",".join(f"{name}:{{{_free_property(schemas[name])}}}" for name in sorted(schemas))


def _free_property(schema: Mapping[str, Any]) -> str:
    types = schema.get("type")
    first = (types[0] if isinstance(types, list) and types else types) or ""
    first = first.upper() if isinstance(first, str) else ""
    parts: list[str] = []
    if description := schema.get("description"):
        parts.append(f"description:{_NOTATION.text(_word(description))}")
    if first == "STRING" and (words := _words(schema.get("enum"))):
        parts.append(f"enum:{_NOTATION.texts(words)}")
    if first == "ARRAY" and schema.get("items"):
        parts.append(f"items:{{{_items(schema['items'])}}}")
    if schema.get("nullable") is True:
        parts.append("nullable:true")
    if first == "OBJECT":
        properties = schema.get("properties")
        parts.append(
            f"properties:{{{_free_properties(properties) if isinstance(properties, Mapping) else ''}}}"
        )
        if required := _words(schema.get("required")):
            parts.append(f"required:{_NOTATION.texts(required)}")
    if first:
        parts.append(f"type:{_free_type(types)}")
    return ",".join(parts)


def _free_type(types: Any) -> str:
    if isinstance(types, str):
        return _NOTATION.text(types.upper())
    return _NOTATION.texts(str(name).upper() for name in types)


def _words(values: Any) -> list[str]:
    """The members of a list as texts; none if it is no list."""
    return [_word(value) for value in values] if isinstance(values, list | tuple) else []


def _word(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return prompt_json.compact(prompt_json.sorted_keys(value))
    return prompt_json.scalar(value)


# -- the alias

_SMALL = ("e2b", "e4b")
_LARGE = ("12b", "26b", "31b")
_SIZE = re.compile(r"\s*([0-9.]+)\s*([kmb])\s*", re.IGNORECASE)
_UNITS = {"k": 1e3, "m": 1e6, "b": 1e9}
_LARGE_FROM = 12e9


def variant(short_name: str, full_name: str, model_type: str) -> str:
    """The renderer that ``gemma4`` stands for with this model."""
    for name in (short_name.lower(), full_name.lower()):
        if any(size in name for size in _SMALL):
            return "gemma4-small"
        if any(size in name for size in _LARGE):
            return "gemma4-large"
    size = _SIZE.fullmatch(model_type)
    if size is not None and size[1].count(".") < 2 and size[1] != ".":
        return "gemma4-large" if float(size[1]) * _UNITS[size[2].lower()] >= _LARGE_FROM else "gemma4-small"
    return "gemma4-small"
