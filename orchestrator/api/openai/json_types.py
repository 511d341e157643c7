"""Names of JSON types as errors of this dialect give them."""

from __future__ import annotations

from typing import Any


def type_name(value: Any) -> str:
    """The name of the type that Go's decoder makes of a JSON value."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case int() | float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"
