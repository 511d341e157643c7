"""JSON as models read it in their prompts: the spellings that published templates were written against.

The values are plain JSON values whose objects are already in the order to be written; ``sorted_keys`` brings
free-form ones into theirs. Integers are written exactly.
Source: ``prompts`` §4.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from orchestrator.domain.tools import (
    Parameters,
    Property,
    Tool,
    ToolFunction,
    parameters_json,
    property_json,
    tool_json,
)

_MARKUP = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_SEPARATORS = re.compile("[\u2028\u2029\ud800-\udfff]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{0xFFFD if 0xD800 <= code < 0xE000 else code:04x}"  # no character: a byte that is no UTF-8


def quoted(text: str) -> str:
    """``text`` as a JSON string that is safe in markup: ``<``, ``>`` and ``&`` are escaped."""
    encoded = encode_basestring(text)
    return _MARKUP.sub(_escape, encoded) if _MARKUP.search(encoded) else encoded


def quoted_raw(text: str) -> str:
    """``text`` as a JSON string in which ``<``, ``>`` and ``&`` stand as they are."""
    encoded = encode_basestring(text)
    return _SEPARATORS.sub(_escape, encoded) if _SEPARATORS.search(encoded) else encoded


def number(value: float) -> str:
    """A JSON number: plain decimal from 1e-6 up to 1e21, shortest digits."""
    if isinstance(value, int):
        return str(value)
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return _decimal(value)
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:  # inf, nan: no JSON has them
        return mantissa
    return f"{mantissa.removesuffix('.0')}e{exponent[0]}{exponent[1:].lstrip('0')}"


def scalar(value: str | float | None) -> str:
    """A scalar in plain text (GFMT): strings raw, fractions of extreme size with an exponent.

    Integral numbers below 1e21 are written in full, since ``1e+06`` in a replayed call misleads models.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float() if value.is_integer() and abs(value) < 1e21:
            return str(int(value))
    return general(value)


def general(value: float) -> str:
    """A float with the shortest digits, plain from 1e-4 up to 1e6 and with an exponent elsewhere."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return _decimal(value)
    digits = f"{value:.17e}"
    for precision in range(17):
        digits = f"{value:.{precision}e}"
        if float(digits) == value:
            break
    return digits


def _decimal(value: float) -> str:
    text = repr(value)
    if "e" not in text:
        return text.removesuffix(".0")
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    shift = int(exponent)
    digits = whole + fraction
    if shift < 0:
        return f"{sign}0.{'0' * (-shift - len(whole))}{digits}"
    return sign + digits.ljust(len(whole) + shift, "0")


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to lay JSON out."""

    comma: str
    colon: str
    quote: Callable[[str], str] = quoted

    def __call__(self, value: Any) -> str:
        """``value`` as text."""
        parts: list[str] = []
        self._write(value, parts.append)
        return "".join(parts)

    def _write(self, value: Any, put: Callable[[str], None]) -> None:
        kind = type(value)
        if kind is str:
            put(self.quote(value))
        elif value is None:
            put("null")
        elif kind is bool:
            put("true" if value else "false")
        elif kind is int or kind is float:
            put(number(value))
        elif isinstance(value, Escaped):
            put(Spelling(self.comma, self.colon)(value.value))
        elif isinstance(value, Mapping):
            self._write_object(value, put)
        else:
            self._write_list(value, put)

    def _write_object(self, value: Mapping[str, Any], put: Callable[[str], None]) -> None:
        lead = "{"
        for key, member in value.items():
            put(lead)
            put(self.quote(key))
            put(self.colon)
            self._write(member, put)
            lead = self.comma
        put("}" if value else "{}")

    def _write_list(self, value: Sequence[Any], put: Callable[[str], None]) -> None:
        lead = "["
        for member in value:
            put(lead)
            self._write(member, put)
            lead = self.comma
        put("]" if value else "[]")


@dataclass(frozen=True, slots=True)
class Escaped:
    """A value whose strings are escaped for markup whatever the spelling around it."""

    value: Any


compact = Spelling(",", ":")
"""J0: no spaces."""
spaced = Spelling(", ", ": ")
"""J1: a space after every comma and colon."""
raw = Spelling(", ", ": ", quoted_raw)
"""J2: like J1, but ``<``, ``>`` and ``&`` stand as they are (``Escaped`` parts excepted)."""


def indented(value: Any, depth: int = 0) -> str:
    """J4: every member on a line of its own, four spaces per level."""
    inner, outer = "\n" + "    " * (depth + 1), "\n" + "    " * depth
    if isinstance(value, Mapping) and value:
        members = (f"{quoted(key)}: {indented(member, depth + 1)}" for key, member in value.items())
        return f"{{{inner}{f',{inner}'.join(members)}{outer}}}"
    if isinstance(value, list | tuple) and value:
        return f"[{inner}{f',{inner}'.join(indented(member, depth + 1) for member in value)}{outer}]"
    return compact(value)


def sorted_keys(value: Any) -> Any:
    """A free-form value with the members of all its objects in the order of their names."""
    if isinstance(value, Mapping):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [sorted_keys(member) for member in value]
    return value


def arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call as they are written: names in the client's order, objects below sorted."""
    return {name: sorted_keys(value) for name, value in values.items()}


def tool_value(tool: Tool) -> dict[str, Any]:
    """A tool as it is written: ``type``, ``items``?, ``function``."""
    value = tool_json(tool)
    _sort_free_form(value["function"]["parameters"])
    return _sort_free_form(value)


def function_value(function: ToolFunction, *, described: bool = False) -> dict[str, Any]:
    """A function as it is written; ``described`` keeps an empty description."""
    value: dict[str, Any] = {"name": function.name}
    if function.description or described:
        value["description"] = function.description
    value["parameters"] = parameters_value(function.parameters)
    return value


def parameters_value(parameters: Parameters) -> dict[str, Any]:
    """The schema of a function's arguments as it is written."""
    return _sort_free_form(parameters_json(parameters))


def property_value(prop: Property) -> dict[str, Any]:
    """One property of a schema as it is written."""
    return _sort_free_form(property_json(prop))


def _sort_free_form(value: dict[str, Any]) -> dict[str, Any]:
    """Sort what a fresh typed ``value`` holds of free-form JSON; its own members keep their order."""
    for name in ("$defs", "items", "enum"):
        if name in value:
            value[name] = sorted_keys(value[name])
    for prop in (value.get("properties") or {}).values():
        _sort_free_form(prop)
    for branch in value.get("anyOf", ()):
        _sort_free_form(branch)
    return value


def escaped_properties(function: dict[str, Any]) -> dict[str, Any]:
    """A function whose ``properties`` are escaped for markup even where the spelling is raw."""
    parameters = dict(function["parameters"])
    if parameters["properties"] is not None:
        parameters["properties"] = Escaped(parameters["properties"])
    return function | {"parameters": parameters}
