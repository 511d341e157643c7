"""JSON text in and out, with the rules clients of the native API rely on.

Reading takes the first value of a body and ignores what follows, keeps whole numbers of any size exact
and the order of keys at every depth, lets the last of two equal keys win, and puts U+FFFD where text is no
Unicode. Writing is the same in reverse. Both use the quick codec and fall back to the standard library's
where that one refuses.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import orjson

from orchestrator.errors import BadRequest

EXACT_LIMIT = 1 << 63
"""The quick codec turns integers from here on (or beyond 64 bits unsigned) into doubles."""

_MOST_DIGITS = 4000
"""More are read so slowly that Python refuses them."""
_SHOWN = 20

_BLANKS = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class MalformedJson(BadRequest):
    """Text that is no JSON."""


def loads(raw: bytes) -> Any:
    """The first JSON value in ``raw``. Raises ``MalformedJson``."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _first_value(raw)
    return _first_value(raw) if _has_rounded_number(value) else value


def loads_all(text: str) -> Any:
    """The JSON value that all of ``text`` is, by the same rules. Raises ``MalformedJson``."""
    value, end = _value_at_start(text)
    if not _BLANKS.fullmatch(text, end):
        raise MalformedJson(f"invalid JSON: something follows the value, at character {end}")
    return value


def dumps(value: Any) -> bytes:
    """``value`` as compact JSON; ``numpy`` arrays become lists."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError:
        # integers beyond 64 bits, or lone surrogates
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return _SURROGATE.sub("\ufffd", text).encode()


def _has_rounded_number(value: Any) -> bool:
    """Whether a number may have been an integer too large for the quick codec."""
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is dict:
            pending.extend(item.values())
        elif kind is list:
            pending.extend(item)
        elif kind is float and abs(item) >= EXACT_LIMIT:
            return True
    return False


def _first_value(raw: bytes) -> Any:
    value, _ = _value_at_start(raw.decode("utf-8", errors="replace"))
    return value


def _value_at_start(text: str) -> tuple[Any, int]:
    """The first value, and where it ends."""
    blanks = _BLANKS.match(text)
    start = blanks.end() if blanks else 0
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError as error:
        raise MalformedJson(f"invalid JSON: {error}") from error
    except RecursionError as error:
        raise MalformedJson("invalid JSON: nested too deeply") from error
    return (_mapped(value, _without_surrogates) if "\\u" in text else value), end


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """``value`` with ``change`` applied to every string in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): _mapped(item, change) for key, item in value.items()}
    return value


def _without_surrogates(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"number {_shown(text)} is out of range")
    return number


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"number {_shown(text)} is out of range")
    return int(text)


def _shown(number: str) -> str:
    return number if len(number) <= _SHOWN else f"{number[:_SHOWN]}… with {len(number)} digits"


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_whole, parse_constant=_refused)
