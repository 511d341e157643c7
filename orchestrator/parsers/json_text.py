"""JSON that a model wrote: read strictly, integers exact, the order of keys kept.

What could not be written into a reply is no value: numbers out of range, nesting without end. Halves of
surrogate pairs become U+FFFD, as in Go.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEEPEST = 200
"""How deep values may be nested; encoders of replies give up a little further down."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_MAY_HOLD_HALF_PAIRS = re.compile(r"\\u[dD]")


class NotJson(ValueError):
    """Text that is no JSON value."""


def value(text: str) -> Any:
    """The JSON value ``text`` is. Raises ``NotJson``."""
    try:
        found = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error
    if text.count("{") + text.count("[") > DEEPEST and _depth(found) > DEEPEST:
        raise NotJson("nested too deeply")
    return _mended(found) if _MAY_HOLD_HALF_PAIRS.search(text) else found


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object ``text`` is, if it is one."""
    try:
        found = value(text)
    except NotJson:
        return None
    return found if isinstance(found, dict) else None


def json_array(text: str) -> list[Any] | None:
    """The JSON array ``text`` is, if it is one."""
    try:
        found = value(text)
    except NotJson:
        return None
    return found if isinstance(found, list) else None


def quoted(text: str) -> str:
    """``text`` as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def without_half_pairs(text: str) -> str:
    """``text`` with pairs of surrogates joined, and U+FFFD for every half of a pair."""
    if not _HALF_PAIR.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"number out of range: {text}")
    return number


def _refused(text: str) -> Any:
    raise NotJson(f"{text} is no JSON")


def _depth(found: Any) -> int:
    depth, level = 0, [found]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def _mended(found: Any) -> Any:
    """``found`` with every half of a surrogate pair replaced."""
    match found:
        case str():
            return without_half_pairs(found)
        case list():
            return [_mended(item) for item in found]
        case dict():
            return {without_half_pairs(key): _mended(item) for key, item in found.items()}
        case _:
            return found


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refused)
