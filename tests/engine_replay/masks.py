"""Masks in recorded values: ``$NAME`` stands for what differs from run to run.

====================  ==========================================================
``$REPEAT(c,n)``      n times c, expanded before anything is compared
``$LIST(n)``          n token ids
``$PNG``              base64 of a PNG
``re:X``              a whole text that X matches
the others            a number, a time, an id or a marker inside a text
====================  ==========================================================
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from collections.abc import Iterator
from typing import Any

from PIL import Image, UnidentifiedImageError

from tests.http_replay.values import json_type, short

_REPEAT = re.compile(r"\$REPEAT\((.*?),(\d+)\)", re.DOTALL)
_LIST = re.compile(r"\$LIST\((\d+)\)")
_INSIDE = {
    "PORT": r"\d+",
    "MARKER": r"<__ollama_media_[0-9a-f]{32}__>",
    "TIME": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)",
    "ID": r"[A-Za-z0-9_-]+",
    "CALL": r"call_[a-z0-9]{8}",
    "PNG": r"[A-Za-z0-9+/]+=*",
}
_NAME = re.compile(r"\$(" + "|".join(_INSIDE) + r")(?![A-Z])")
_IN_REPLIES = {"$TIME": ("2026-01-01T00:00:00Z", "time"), "$NS": (1, "ns"), "$UNIX": (1, "positive")}


def expanded(value: Any) -> Any:
    """``value`` with every ``$REPEAT`` written out."""
    match value:
        case str():
            return _REPEAT.sub(lambda found: found[1] * int(found[2]), value)
        case list():
            return [expanded(element) for element in value]
        case dict():
            return {key: expanded(element) for key, element in value.items()}
        case _:
            return value


def value_differences(want: Any, got: Any, path: str = "") -> Iterator[str]:
    """What is wrong with ``got``; numbers are equal by value, objects have the same keys."""
    match want, got:
        case str(), str() if _same_text(want, got):
            return
        case str(), list() if (found := _LIST.fullmatch(want)) and len(got) == int(found[1]):
            return
        case dict(), dict():
            for key in sorted(want.keys() | got.keys()):
                if key not in got:
                    yield f"{path}.{key}: missing (value {short(want[key])})"
                elif key not in want:
                    yield f"{path}.{key}: not expected (value {short(got[key])})"
                else:
                    yield from value_differences(want[key], got[key], f"{path}.{key}")
        case list(), list() if len(want) == len(got):
            for index, (ours, theirs) in enumerate(zip(want, got, strict=True)):
                yield from value_differences(ours, theirs, f"{path}[{index}]")
        case _ if json_type(want) == json_type(got) and want == got:
            return
        case _:
            yield f"{path}: {short(want)} expected, got {short(got)}"


def reply_masks(value: Any, path: str = "") -> tuple[Any, dict[str, str]]:
    """A recorded reply in the form of ``http_replay``: a value without masks, and a mask for each path."""
    masks: dict[str, str] = {}

    def cleared(value: Any, path: str) -> Any:
        match value:
            case dict():
                return {key: cleared(v, f"{path}.{key}" if path else key) for key, v in sorted(value.items())}
            case list():
                return [cleared(element, f"{path}[]" if path else "") for element in value]
            case str():
                plain, mask = _mask(value, of_error=path.endswith("error"))
                if mask:
                    masks[path] = mask
                return plain
            case _:
                return value

    return cleared(value, path), masks


def _mask(text: str, *, of_error: bool) -> tuple[Any, str]:
    """A text without masks, and its mask; an engine's error passed on is JSON, where the order is free."""
    if of_error and text.startswith("{"):
        return text, "json"
    if text in _IN_REPLIES:
        return _IN_REPLIES[text]
    if found := _LIST.fullmatch(text):
        return [1] * int(found[1]), f"tokens:{found[1]}"
    if text.startswith("re:"):
        return text, text
    return (text, f"re:{_pattern(text)}") if _NAME.search(text) else (text, "")


def _same_text(want: str, got: str) -> bool:
    if want == got:
        return True
    if want.startswith("re:"):
        return re.fullmatch(want[3:], got, re.DOTALL) is not None
    if not _NAME.search(want) or not re.fullmatch(_pattern(want), got, re.DOTALL):
        return False
    return "$PNG" not in want or _is_png(got.rpartition(",")[2])


def _pattern(text: str) -> str:
    parts = _NAME.split(text)
    return "".join(_INSIDE[part] if index % 2 else re.escape(part) for index, part in enumerate(parts))


def _is_png(text: str) -> bool:
    try:
        with Image.open(io.BytesIO(base64.b64decode(text))) as image:
            return image.format == "PNG"
    except (binascii.Error, UnidentifiedImageError):
        return False
