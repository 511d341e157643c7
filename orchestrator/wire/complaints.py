"""What is wrong with JSON from somebody else, in words for people instead of the validator's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_SHOWN = 40
"""Digits of a number in a message."""

_EXPECTED: Mapping[str, str] = {
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "tuple_type": "a list",
    "bytes_type": "a string",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def complaint(error: ValidationError, *, whole: str = "body") -> str:
    """What is wrong with the first bad value, and where it stands; ``whole`` names what all of it is."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    expected = _EXPECTED.get(first["type"])
    what = f"expected {expected}, got {_kind(first['input'])}" if expected else _own_words(first["msg"])
    return f"{where.lstrip('.') or whole}: {what}" if where or whole else what


def _own_words(message: str) -> str:
    """What a check of ours says, or what is no JSON, without what pydantic puts before it."""
    if message == "Field required":
        return "it is missing"
    text = message.removeprefix("Value error, ").replace("Input should be", "expected a value", 1)
    return text.replace("Invalid JSON: ", "no JSON: ", 1)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            digits = str(value)
            return f"the number {digits}" if len(digits) <= _SHOWN else "a number out of range"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
