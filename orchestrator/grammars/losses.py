"""What llama.cpp's own reader of JSON schemas loses, though a grammar could enforce it.

It looks at a schema's keywords in a fixed order and goes by the first it knows; those beside it are lost.
Source: llama.cpp common/json-schema-to-grammar.cpp.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.grammars.places import Place

_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_LENGTHS = ("minLength", "maxLength")
_COUNTS = ("minItems", "maxItems")
_ENFORCED = frozenset(
    {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "properties", "required"}
    | {"additionalProperties", "items", "prefixItems", "pattern", "format", *_NUMBERS, *_LENGTHS, *_COUNTS}
)
_FORMATS = frozenset({"date", "time", "date-time", "uuid", *(f"uuid{version}" for version in range(1, 6))})
_BY_NAME = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_SINGLE = ("items", "additionalProperties")


def losses(schema: Any) -> tuple[str, ...]:
    """JSON pointers to the keywords of ``schema`` that an engine loses when it reads the schema by itself."""
    found: list[str] = []
    pending = deque([Place("#", schema)])
    while pending:
        place = pending.popleft()
        if isinstance(place.schema, Mapping):
            found += (f"{place.path}/{keyword}" for keyword in _lost(place.schema))
            pending += _parts(place)
    return tuple(found)


def _lost(schema: Mapping[str, Any]) -> Iterator[str]:
    asked = [keyword for keyword in schema if keyword in _ENFORCED]
    for deciding in ("$ref", "oneOf", "anyOf"):
        if deciding in schema:
            yield from (keyword for keyword in asked if keyword != deciding)
            return
    if "const" in schema or "enum" in schema:
        return  # the values say it all
    if "allOf" in schema:
        yield "allOf"
    if _is_undeclared(schema):
        yield "required"
    if "items" in schema and "prefixItems" in schema:
        yield "prefixItems"
    if not isinstance(schema.get("items", schema.get("prefixItems", [])), Mapping):
        yield from (keyword for keyword in asked if keyword in _COUNTS)  # none, or a tuple of fixed length
    if "pattern" in schema and not _is_plain(schema["pattern"]):
        yield "pattern"
    if "pattern" in schema and schema.get("format") in _FORMATS:
        yield "format"
    if "pattern" in schema or schema.get("format") in _FORMATS or schema.get("type") != "string":
        yield from (keyword for keyword in asked if keyword in _LENGTHS)
    if schema.get("type") != "integer":
        yield from (keyword for keyword in asked if keyword in _NUMBERS)


def _is_undeclared(schema: Mapping[str, Any]) -> bool:
    """Whether a required member is not among the properties."""
    required, properties = schema.get("required"), schema.get("properties")
    names = required if isinstance(required, list) else []
    return not set(map(str, names)) <= set(properties if isinstance(properties, Mapping) else ())


def _is_plain(pattern: Any) -> bool:
    """Whether the engine can say a pattern: it has to be anchored, and few escapes are known."""
    return isinstance(pattern, str) and pattern[:1] == "^" and pattern[-1:] == "$" and "\\" not in pattern


def _parts(place: Place) -> Iterator[Place]:
    for keyword, value in place.schema.items():
        if keyword in _BY_NAME and isinstance(value, Mapping):
            yield from (place.at(keyword, name) for name in value)
        elif keyword in _LISTS and isinstance(value, list):
            yield from (place.at(keyword, index) for index in range(len(value)))
        elif keyword in _SINGLE:
            yield place.at(keyword)
