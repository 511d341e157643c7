"""JSON exactly as the store writes it, so that equal content has equal digests.

No spaces; ``<``, ``>``, ``&``, U+2028 and U+2029 escaped, other text as UTF-8; numbers in their shortest
form, with an exponent only below 1e-6 and from 1e21; one newline at the end. Source: ``store`` §3.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from orchestrator.errors import BadRequest

_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_EXACT_IN_A_DOUBLE = 1 << 53


def canonical_json(value: Any) -> bytes:
    """``value`` as a line of JSON; keys stay in their order."""
    return _encoded(value).encode("utf-8", "replace") + b"\n"


def free_form(value: Any) -> Any:
    """``value`` as free-form JSON is kept: keys sorted at every depth, numbers passed through doubles.

    Raises ``BadRequest`` for a number that no double holds.
    """
    match value:
        case Mapping():
            return {key: free_form(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [free_form(item) for item in value]
        case int() if abs(value) > _EXACT_IN_A_DOUBLE:
            return _double(value)
        case _:
            return value


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise BadRequest(f"number {str(value)[:20]}… is out of range") from error


def _encoded(value: Any) -> str:
    match value:
        case None | bool() | int():
            return json.dumps(value)
        case str():
            return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)
        case float():
            return _number(value)
        case Mapping():
            return "{" + ",".join(f"{_encoded(key)}:{_encoded(item)}" for key, item in value.items()) + "}"
        case Sequence():
            return "[" + ",".join(map(_encoded, value)) + "]"
        case _:
            raise TypeError(f"no JSON for {type(value).__name__}")


def _number(value: float) -> str:
    if value and not 1e-6 <= abs(value) < 1e21:
        return repr(value).replace("e-0", "e-")
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
