"""Tool definitions as a client sends them, in the shape templates and renderers read.

Only the keys of the native API survive: what else a schema holds is dropped before the model sees it.
Source: ``api-native`` §8.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from orchestrator.domain.references import has_references, resolved
from orchestrator.errors import BadRequest

T = TypeVar("T")


class InvalidTool(BadRequest):
    """A tool definition with a value of the wrong type."""


@dataclass(frozen=True, slots=True)
class Property:
    """One parameter of a function, at any depth of the schema."""

    any_of: tuple[Property, ...] = ()
    types: tuple[str, ...] = ()
    """Type names; the wire writes one name as a bare string."""
    items: Any = None
    """The raw JSON of ``items``, order of keys kept."""
    description: str = ""
    enum: tuple[Any, ...] = ()
    properties: Mapping[str, Property] | None = None
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameters:
    """The schema of a function's arguments."""

    type: str = ""
    defs: Any = None
    items: Any = None
    required: tuple[str, ...] = ()
    properties: Mapping[str, Property] | None = None
    whole: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """The schema as the client sent it, where it refers to parts of itself."""


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """Name, purpose and parameters of a callable function."""

    name: str = ""
    description: str = ""
    parameters: Parameters = Parameters()


@dataclass(frozen=True, slots=True)
class Tool:
    """One entry of a request's ``tools``."""

    type: str = ""
    items: Any = None
    function: ToolFunction = ToolFunction()


def parse_tools(value: Any) -> tuple[Tool, ...]:
    """Read the ``tools`` member of a request; ``None`` is no tools. Raises ``InvalidTool``."""
    if value is None:
        return ()
    try:
        return tuple(parse_tool(entry) for entry in _typed(value, list, "tools"))
    except RecursionError as error:
        raise InvalidTool("tools: nested too deeply") from error


def parse_tool(value: Any) -> Tool:
    """Read one tool definition. Raises ``InvalidTool`` on a value of the wrong type."""
    tool = _record(value, "tools", _TOOL)
    function = _record(tool.get("function"), "tools.function", _FUNCTION)
    parameters = _object(function.get("parameters"), "tools.function.parameters")
    return Tool(
        type=_string(tool.get("type"), "tools.type"),
        items=tool.get("items"),
        function=ToolFunction(
            name=_string(function.get("name"), "tools.function.name"),
            description=_string(function.get("description"), "tools.function.description"),
            parameters=_parameters(parameters, whole=parameters if has_references(parameters) else None),
        ),
    )


def resolved_tool(tool: Tool) -> Tool:
    """``tool`` with everything its parameters refer to in its place (case B046). Raises ``InvalidTool``."""
    whole = tool.function.parameters.whole
    if whole is None:
        return tool
    parameters = _parameters(resolved(whole))
    return replace(tool, function=replace(tool.function, parameters=parameters))


def tool_json(tool: Tool) -> dict[str, Any]:
    """The tool as the JSON object the engine and templates get, keys in the fixed order of the wire."""
    out: dict[str, Any] = {"type": tool.type}
    if tool.items is not None:
        out["items"] = tool.items
    out["function"] = function_json(tool.function)
    return out


def function_json(function: ToolFunction) -> dict[str, Any]:
    """The ``function`` object of a tool; an empty description is left out."""
    out: dict[str, Any] = {"name": function.name}
    if function.description:
        out["description"] = function.description
    out["parameters"] = parameters_json(function.parameters)
    return out


def parameters_json(parameters: Parameters) -> dict[str, Any]:
    """The ``parameters`` object; ``type`` and ``properties`` are always written."""
    out: dict[str, Any] = {"type": parameters.type}
    if parameters.defs is not None:
        out["$defs"] = parameters.defs
    if parameters.items is not None:
        out["items"] = parameters.items
    if parameters.required:
        out["required"] = list(parameters.required)
    out["properties"] = (
        None
        if parameters.properties is None
        else {name: property_json(prop) for name, prop in parameters.properties.items()}
    )
    return out


def property_json(prop: Property) -> dict[str, Any]:
    """One property as JSON, empty members left out, one type name as a bare string."""
    out: dict[str, Any] = {}
    if prop.any_of:
        out["anyOf"] = [property_json(branch) for branch in prop.any_of]
    if prop.types:
        out["type"] = prop.types[0] if len(prop.types) == 1 else list(prop.types)
    if prop.items is not None:
        out["items"] = prop.items
    if prop.description:
        out["description"] = prop.description
    if prop.enum:
        out["enum"] = list(prop.enum)
    if prop.properties:
        out["properties"] = {name: property_json(inner) for name, inner in prop.properties.items()}
    if prop.required:
        out["required"] = list(prop.required)
    return out


def _parameters(given: Mapping[str, Any], whole: Mapping[str, Any] | None = None) -> Parameters:
    schema = _record(given, "tools.function.parameters", _PARAMETERS)
    return Parameters(
        type=_string(schema.get("type"), "tools.function.parameters.type"),
        defs=schema.get("$defs"),
        items=schema.get("items"),
        required=_strings(schema.get("required"), "tools.function.parameters.required"),
        properties=_properties(schema.get("properties")),
        whole=whole,
    )


def _properties(value: Any) -> dict[str, Property] | None:
    if value is None:
        return None
    return {name: _property(prop) for name, prop in _object(value, "properties").items()}


def _property(value: Any) -> Property:
    prop = _record(value, "properties", _PROPERTY)
    types = prop.get("type", [])
    return Property(
        any_of=tuple(_property(branch) for branch in _array(prop.get("anyOf"), "anyOf")),
        types=(types or "",) if types is None or isinstance(types, str) else _strings(types, "type"),
        items=prop.get("items"),
        description=_string(prop.get("description"), "description"),
        enum=tuple(_array(prop.get("enum"), "enum")),
        properties=_properties(prop.get("properties")),
        required=_strings(prop.get("required"), "required"),
    )


def _spellings(*names: str) -> Mapping[str, str]:
    return {name.casefold(): name for name in names}


_TOOL = _spellings("type", "items", "function")
_FUNCTION = _spellings("name", "description", "parameters")
_PARAMETERS = _spellings("type", "$defs", "items", "required", "properties")
_PROPERTY = _spellings("anyOf", "type", "items", "description", "enum", "properties", "required")


def _record(value: Any, where: str, spellings: Mapping[str, str]) -> dict[str, Any]:
    """The members of an object whose names count in any case; names of properties are not among them."""
    members = _object(value, where)
    return {spellings.get(key.casefold(), key): member for key, member in members.items()}


def _object(value: Any, where: str) -> dict[str, Any]:
    return {} if value is None else _typed(value, dict, where)


def _string(value: Any, where: str) -> str:
    return "" if value is None else _typed(value, str, where)


def _array(value: Any, where: str) -> list[Any]:
    return [] if value is None else _typed(value, list, where)


def _strings(value: Any, where: str) -> tuple[str, ...]:
    return tuple(_string(entry, where) for entry in _array(value, where))


def _typed(value: Any, kind: type[T], where: str) -> T:
    if not isinstance(value, kind):
        raise InvalidTool(f"{where}: expected {_JSON_NAME[kind]}, got {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    return "a number" if type(value) in (int, float) else _JSON_NAME.get(type(value), "null")


_JSON_NAME: Mapping[type, str] = {list: "an array", dict: "an object", str: "a string", bool: "a boolean"}
