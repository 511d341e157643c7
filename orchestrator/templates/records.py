"""Messages, tools and calls as templates see them.

Source: ``prompts`` §2.3–2.5.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.domain import prompt_json
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.tools import Parameters, Property, Tool, ToolFunction
from orchestrator.templates.values import (
    MESSAGE,
    PROPERTY,
    JsonList,
    JsonMap,
    Lazy,
    NilJsonList,
    NilList,
    Record,
    TypeNames,
)


def message_record(message: Message) -> Record:
    """A message."""
    fields = {
        "Role": message.role,
        "Content": message.content,
        "Thinking": message.thinking,
        "Images": list(message.images) or NilList(),
        "ToolCalls": [call_record(call) for call in message.tool_calls] or NilList(),
        "ToolName": message.tool_name,
        "ToolCallID": message.tool_call_id,
    }
    return Record(MESSAGE, fields, lambda: _message_json(message))


def _message_json(message: Message) -> dict[str, Any]:
    return {
        "Role": message.role,
        "Content": message.content,
        "Thinking": message.thinking,
        "Images": [b64encode(image).decode() for image in message.images] or None,
        "ToolCalls": [_call_json(call) for call in message.tool_calls] or None,
        "ToolName": message.tool_name,
        "ToolCallID": message.tool_call_id,
    }


def call_record(call: ToolCall) -> Record:
    """A call; its function prints as JSON, with the names models know."""
    fields = {"Index": call.index, "Name": call.name, "Arguments": JsonMap(call.arguments)}
    function = Record(
        "ToolCallFunction",
        fields,
        json=lambda: _call_json(call)["Function"],
        shown=lambda: {"name": call.name, "arguments": prompt_json.sorted_keys(call.arguments)},
    )
    return Record("ToolCall", {"ID": call.id, "Function": function}, lambda: _call_json(call))


def _call_json(call: ToolCall) -> dict[str, Any]:
    arguments = prompt_json.sorted_keys(call.arguments)
    return {"ID": call.id, "Function": {"Index": call.index, "Name": call.name, "Arguments": arguments}}


def tool_list(tools: Sequence[Tool] | None) -> JsonList:
    """The tools of a request, ``None`` if it had none; the list and each of them print as JSON."""
    return NilJsonList() if tools is None else JsonList(map(tool_record, tools))


def tool_record(tool: Tool) -> Record:
    """One tool."""

    def json() -> dict[str, Any]:
        items = {} if tool.items is None else {"items": prompt_json.sorted_keys(tool.items)}
        return {"type": tool.type, **items, "function": _function_json(tool.function)}

    fields = Lazy(
        {"Type": tool.type, "Items": tool.items},
        {"Function": lambda: _function_record(tool.function)},
    )
    return Record("Tool", fields, json, shown=json)


def _function_record(function: ToolFunction) -> Record:
    def json() -> dict[str, Any]:
        return _function_json(function)

    fields = Lazy(
        {"Name": function.name, "Description": function.description},
        {"Parameters": lambda: _parameters_record(function.parameters)},
    )
    return Record("ToolFunction", fields, json, shown=json)


def _function_json(function: ToolFunction) -> dict[str, Any]:
    value = prompt_json.function_value(function, described=True)
    value["parameters"] = _with_sorted_properties(value["parameters"])
    return value


def _parameters_record(parameters: Parameters) -> Record:
    def json() -> dict[str, Any]:
        return _with_sorted_properties(prompt_json.parameters_value(parameters))

    fields = Lazy(
        {
            "Type": parameters.type,
            "Defs": parameters.defs,
            "Items": parameters.items,
            "Required": list(parameters.required) or NilList(),
        },
        {"Properties": lambda: _property_map(parameters.properties)},
    )
    return Record("ToolFunctionParameters", fields, json, shown=json)


def _with_sorted_properties(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the names at the top in order; further down they stay as the client had them."""
    if properties := parameters["properties"]:
        parameters["properties"] = {name: properties[name] for name in sorted(properties)}
    return parameters


def _property_map(properties: Mapping[str, Property] | None) -> JsonMap:
    return JsonMap({name: property_record(prop) for name, prop in (properties or {}).items()})


def property_record(prop: Property) -> Record:
    """One property of a schema."""
    fields = Lazy(
        {
            "Type": TypeNames(prop.types),
            "Items": prop.items,
            "Description": prop.description,
            "Enum": list(prop.enum) or NilList(),
            "Required": list(prop.required) or NilList(),
        },
        {
            "AnyOf": lambda: [property_record(branch) for branch in prop.any_of] or NilList(),
            "Properties": lambda: _property_map(prop.properties),
            "ToTypeScriptType": lambda: typescript_type(prop),
        },
    )
    return Record(PROPERTY, fields, lambda: prompt_json.property_value(prop))


_TYPESCRIPT = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "array": "any[]",
    "object": "Record<string, any>",
    "null": "null",
}


def typescript_type(prop: Property) -> str:
    """The TypeScript type that fits a property."""
    if prop.any_of:
        return " | ".join(map(typescript_type, prop.any_of))
    return " | ".join(_TYPESCRIPT.get(name, "any") for name in prop.types) or "any"
