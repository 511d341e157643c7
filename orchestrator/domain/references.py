"""References within a JSON schema, replaced by what they refer to.

Templates know no ``$ref`` and no ``allOf``: a property that is nothing else has no type, and many templates
fail then. What contains itself, or would grow beyond measure, becomes an object of which no more is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

MOST_SCHEMAS = 5_000
DEEPEST = 32

_UNKNOWN: Mapping[str, Any] = {"type": "object"}
_BY_NAME = frozenset({"properties", "patternProperties"})
"""Keywords whose members are schemas, each under its own name."""
_NO_SCHEMAS = frozenset({"enum", "const", "default", "example", "examples", "required", "type"})
_DEFINITIONS = frozenset({"$defs", "definitions"})
_LINKS = frozenset({"$ref", "allOf"})


def has_references(schema: Any) -> bool:
    """Whether there may be a reference anywhere in ``schema``."""
    pending = [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if not _LINKS.isdisjoint(item):
                return True
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return False


def resolved(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` without references, and without the definitions that nothing refers to any more."""
    return _Resolver(schema).schema(schema, ())


class _Resolver:
    """Copies schemas, each reference as what it refers to; ``within`` are the references around a schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._count = 0

    def schema(self, schema: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        """What ``schema`` says, together with all that holds because of it."""
        self._count += 1
        found: dict[str, Any] = {}
        if "$ref" in schema:
            found = self._referred(schema["$ref"], within)
        for part in _list(schema.get("allOf")):
            if isinstance(part, Mapping):
                found = _joined(found, self.schema(part, within))
        own = {
            key: self._member(key, value, within)
            for key, value in schema.items()
            if key not in _LINKS and key not in _DEFINITIONS
        }
        return _joined(found, own)

    def _referred(self, ref: Any, within: tuple[str, ...]) -> dict[str, Any]:
        target = self._target(ref)
        if target is None or ref in within or len(within) >= DEEPEST or self._count >= MOST_SCHEMAS:
            return dict(_UNKNOWN)
        return self.schema(target, (*within, ref))

    def _member(self, key: str, value: Any, within: tuple[str, ...]) -> Any:
        if key in _NO_SCHEMAS:
            return value
        if key in _BY_NAME and isinstance(value, Mapping):
            return {name: self._value(inner, within) for name, inner in value.items()}
        return self._value(value, within)

    def _value(self, value: Any, within: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            return self.schema(value, within)
        return [self._value(item, within) for item in value] if isinstance(value, list) else value

    def _target(self, ref: Any) -> Mapping[str, Any] | None:
        """The schema that a pointer into this document leads to."""
        if not isinstance(ref, str) or not ref.startswith("#"):
            return None
        target: Any = self._root
        for step in ref[1:].split("/")[1:]:
            target = _step(target, unquote(step).replace("~1", "/").replace("~0", "~"))
        return target if isinstance(target, Mapping) else None


def _step(target: Any, name: str) -> Any:
    if isinstance(target, Mapping):
        return target.get(name)
    if isinstance(target, list) and name.isascii() and name.isdigit() and len(name) < 10:
        return target[int(name)] if int(name) < len(target) else None
    return None


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas as one; the second has the last word, but for properties, which add up."""
    joined = {**first, **second}
    if isinstance(first.get("properties"), Mapping) and isinstance(second.get("properties"), Mapping):
        joined["properties"] = {**first["properties"], **second["properties"]}
    if "required" in first and "required" in second:
        names = (*_list(first["required"]), *_list(second["required"]))
        joined["required"] = list(dict.fromkeys(name for name in names if isinstance(name, str)))
    return joined


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
