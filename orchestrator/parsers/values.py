"""Values of arguments that come as plain text: what the schema of the tool makes of them.

Source: ``parsers`` §4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

from orchestrator.parsers.json_text import json_array, json_object

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INT64 = range(-(2**63), 2**63)
_LONGEST_INTEGER = 4000
"""Digits Python converts without complaint."""


def unframed(text: str) -> str:
    """``text`` without the line end after its opening tag and the one before its closing tag."""
    return text.removeprefix("\n").removesuffix("\n")


def typed(text: str, types: Collection[str]) -> Any:
    """The value that ``text`` stands for, for a parameter of these types; text if it fits none of them.

    Types are tried in a fixed order, whatever their order in the schema.
    """
    word = text.lower()
    if word == "null":
        return None
    if "boolean" in types:
        if word in ("true", "false"):
            return word == "true"
        if set(types) == {"boolean"}:
            return False
    if "integer" in types and (number := integer(text)) is not None and number in _INT64:
        return number
    if "number" in types and (decimal := number_of(text)) is not None:
        return decimal
    if "array" in types and (array := json_array(text)) is not None:
        return array
    if "object" in types and (members := json_object(text)) is not None:
        return members
    return text


def integer(text: str) -> int | None:
    """The integer ``text`` is: a sign and ASCII digits, nothing else."""
    return int(text) if _INTEGER.fullmatch(text) and len(text) <= _LONGEST_INTEGER else None


def decimal(text: str) -> int | float | None:
    """The decimal number ``text`` is: integers exact, others as floats, unless out of their range."""
    if (whole := integer(text)) is not None:
        return whole
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def number_of(text: str) -> int | float | None:
    """Like ``decimal``, but ``2.0`` and ``1e3`` are integers too."""
    number = decimal(text)
    if isinstance(number, float) and number.is_integer() and int(number) in _INT64:
        return int(number)
    return number
