"""Functions as Gemma 4 is told of them. Source: ``prompts`` §5.6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.tools import Property, Tool
from orchestrator.renderers.gemma_values import Notation

NOTATION = Notation(quote='<|"|>', null="null")


def declaration(tool: Tool) -> str:
    """A function, as the system's turn declares it."""
    function = tool.function
    description = NOTATION.text(function.description)
    parameters = NOTATION.parameters(function.parameters, _properties)
    return f"<|tool>declaration:{function.name}{{description:{description}{parameters}}}<tool|>"


def _properties(properties: Mapping[str, Property] | None) -> str:
    properties = properties or {}
    return ",".join(f"{name}:{{{_property(properties[name])}}}" for name in sorted(properties))


def _property(prop: Property) -> str:
    types = [name.upper() for name in prop.types or _branch_types(prop)]
    first = types[0] if types else ""
    parts: list[str] = []
    if prop.description:
        parts.append(f"description:{NOTATION.text(prop.description)}")
    if first == "STRING" and prop.enum:
        parts.append(f"enum:{NOTATION.texts(_words(prop.enum))}")
    if first == "ARRAY" and prop.items:
        parts.append(f"items:{{{_items(prop.items)}}}")
    if first == "OBJECT":
        parts.append(f"properties:{{{_properties(prop.properties)}}}")
        if prop.required:
            parts.append(f"required:{NOTATION.texts(prop.required)}")
    if len(types) == 1:
        parts.append(f"type:{NOTATION.text(first)}")
    elif types:
        listed = ", ".join(f"'{name}'" for name in types)
        parts.append(f"type:{NOTATION.text(f'[{listed}]')}")
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
            return NOTATION.texts(_words(value))
        case "type", str() | list():
            return _free_type(value)
        case _:
            return _quoted_keys(value)


def _quoted_keys(value: Any) -> str:
    match value:
        case Mapping():
            members = (f"{NOTATION.text(key)}:{_quoted_keys(value[key])}" for key in sorted(value))
            return f"{{{','.join(members)}}}"
        case list():
            return f"[{','.join(map(_quoted_keys, value))}]"
        case _:
            return NOTATION.value(value)


def _free_properties(properties: Mapping[str, Any]) -> str:
    schemas = {name: schema for name, schema in properties.items() if isinstance(schema, Mapping)}
    return ",".join(f"{name}:{{{_free_property(schemas[name])}}}" for name in sorted(schemas))


def _free_property(schema: Mapping[str, Any]) -> str:
    types = schema.get("type")
    first = (types[0] if isinstance(types, list) and types else types) or ""
    first = first.upper() if isinstance(first, str) else ""
    parts: list[str] = []
    if description := schema.get("description"):
        parts.append(f"description:{NOTATION.text(_word(description))}")
    if first == "STRING" and (words := _words(schema.get("enum"))):
        parts.append(f"enum:{NOTATION.texts(words)}")
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
            parts.append(f"required:{NOTATION.texts(required)}")
    if first:
        parts.append(f"type:{_free_type(types)}")
    return ",".join(parts)


def _free_type(types: Any) -> str:
    if isinstance(types, str):
        return NOTATION.text(types.upper())
    return NOTATION.texts(str(name).upper() for name in types)


def _words(values: Any) -> list[str]:
    """The members of a list as texts; none if it is no list."""
    return [_word(value) for value in values] if isinstance(values, list | tuple) else []


def _word(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return prompt_json.compact(prompt_json.sorted_keys(value))
    return prompt_json.scalar(value)
