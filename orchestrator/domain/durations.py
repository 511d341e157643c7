"""Durations as Ollama reads them: whole nanoseconds, in Go's notation. ``units`` writes them.

::

    duration = [ "+" | "-" ] ( "0" | ( number unit )+ )
    number   = digits [ "." digits ] | "." digits        at least one digit
    unit     = "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h"
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from orchestrator.errors import BadRequest
from orchestrator.units import SECOND_NS, format_duration

__all__ = ["MAX_NS", "SECOND_NS", "InvalidDuration", "KeepAlive", "format_duration", "parse_duration"]

MAX_NS = 2**63 - 1

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign, U+00B5
    "μs": 1_000,  # Greek mu, U+03BC
    "ms": 1_000_000,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3600 * SECOND_NS,
}
_NUMBER = re.compile(r"([0-9]*)(?:\.([0-9]*))?")
_UNIT = re.compile(r"[^.0-9]*")
_SECONDS = re.compile(r"[+-]?[0-9]+")


class InvalidDuration(BadRequest):
    """A text that is no duration, or a JSON value of a type that cannot be one."""


def parse_duration(text: str) -> int:
    """Nanoseconds of a duration such as ``1h30m``. Raises ``InvalidDuration`` with Go's words."""
    negative, rest = text[:1] == "-", text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = 0
    while rest:
        part, rest = _first_part(rest, text)
        total += part
        if total > MAX_NS + negative:
            raise _invalid(text)
    return -total if negative else total


def _first_part(rest: str, whole: str) -> tuple[int, str]:
    """Nanoseconds of the first ``<number><unit>`` and what follows it; fractions are cut, not rounded."""
    number = _NUMBER.match(rest)
    assert number is not None
    digits, decimals = number[1], number[2] or ""
    if not digits and not decimals or len(digits.lstrip("0")) > len(str(MAX_NS)):
        raise _invalid(whole)
    unit = _UNIT.match(rest, number.end())
    assert unit is not None
    if not unit[0]:
        raise InvalidDuration(f"time: missing unit in duration {_quoted(whole)}")
    scale = _UNITS.get(unit[0])
    if scale is None:
        raise InvalidDuration(f"time: unknown unit {_quoted(unit[0])} in duration {_quoted(whole)}")
    decimals = decimals[:18]  # more say nothing: the greatest unit has 3.6e12 nanoseconds
    ns = int(digits.lstrip("0") or "0") * scale + int(decimals or "0") * scale // 10 ** len(decimals)
    return ns, rest[unit.end() :]


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """How long an idle runner stays loaded: 0 is not at all, the greatest duration is for ever."""

    ns: int

    FOREVER: ClassVar[KeepAlive]

    @classmethod
    def parse(cls, value: Any) -> KeepAlive:
        """Read the JSON value of ``keep_alive``: seconds, or a text. Negative means for ever.

        A text of digits alone is seconds too (case B091). Raises ``InvalidDuration``.
        """
        match value:
            case bool():
                raise InvalidDuration("Unsupported type: 'bool'")
            case int() | float():
                return cls._of_seconds(value)
            case str() if _SECONDS.fullmatch(value):
                return cls._of_seconds(float(value))
            case str():
                return cls._of_ns(parse_duration(value))
            case list():
                raise InvalidDuration("Unsupported type: '[]interface {}'")
            case _:
                raise InvalidDuration("Unsupported type: 'map[string]interface {}'")

    @classmethod
    def _of_seconds(cls, seconds: float) -> KeepAlive:
        if not 0 <= seconds < MAX_NS / SECOND_NS:
            return cls.FOREVER
        return cls(math.trunc(seconds * SECOND_NS))

    @classmethod
    def _of_ns(cls, ns: int) -> KeepAlive:
        return cls.FOREVER if ns < 0 else cls(ns)

    @property
    def is_zero(self) -> bool:
        """Leave as soon as the request is done."""
        return self.ns == 0

    @property
    def is_forever(self) -> bool:
        """Stay until asked to leave."""
        return self.ns == MAX_NS

    def __str__(self) -> str:
        return format_duration(self.ns)


KeepAlive.FOREVER = KeepAlive(MAX_NS)


def _invalid(text: str) -> InvalidDuration:
    return InvalidDuration(f"time: invalid duration {_quoted(text)}")


def _quoted(text: str) -> str:
    """``text`` as Go's ``time`` package quotes it: what is not plain ASCII as ``\\xNN``."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if " " <= character < "\x80":
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogatepass"))
