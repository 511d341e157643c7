"""Whether a JSON value is the recorded one, where masks say what may differ.

A mask belongs to a dotted path with ``[]`` for any element of a list, and says what is wanted instead of the
very value. Each difference is one line of text.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Masks = Mapping[str, str]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_CLOCK_SLACK_S = 5
_LEAST_COSINE = 0.999
_NORM_SLACK = 0.01
_LOGPROB_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands."""

    path: str
    want_parent: Any = None
    got_parent: Any = None
    now: float = 0.0
    """When the answer came, in seconds since the epoch."""


def differences(
    want: Any,
    got: Any,
    masks: Masks,
    *,
    now: float = 0.0,
    path: str = "",
    parents: tuple[Any, Any] = (None, None),
) -> Iterator[str]:
    """What is wrong with ``got``. Members that the recorded object does not have are no difference."""
    mask = masks.get(_generic(path))
    if mask:
        yield from _masked(mask, Place(path, *parents, now), want, got)
    elif json_type(want) != json_type(got):
        yield _line(path, want, got)
    elif isinstance(want, dict):
        yield from _object_differences(want, got, masks, now, path)
    elif isinstance(want, list):
        if len(want) != len(got):
            yield f"{path}: {len(want)} elements expected, got {len(got)}: {short(got)}"
        for index, (ours, theirs) in enumerate(zip(want, got, strict=False)):
            yield from differences(ours, theirs, masks, now=now, path=f"{path}[{index}]", parents=(want, got))
    elif want != got:
        yield _line(path, want, got)


def _object_differences(
    want: dict[str, Any], got: dict[str, Any], masks: Masks, now: float, path: str
) -> Iterator[str]:
    def at(key: str) -> str:
        return f"{path}.{key}" if path else key

    for key in want:
        if key not in got and masks.get(_generic(at(key))) != "any":
            yield f"{path or '.'}: key {key} missing (value {short(want[key])})"
    shared = [key for key in want if key in got]
    order = [key for key in got if key in want]
    if shared != order:
        yield f"{path or '.'}: key order {shared} expected, got {order}"
    for key in shared:
        yield from differences(want[key], got[key], masks, now=now, path=at(key), parents=(want, got))


def _masked(mask: str, place: Place, want: Any, got: Any) -> Iterator[str]:
    kind, _, argument = mask.partition(":")
    if kind == "free":
        return
    if kind != "any" and json_type(want) != json_type(got):
        yield f"{place.path}: {json_type(want)} expected, got {short(got)}"
        return
    if kind in ("type", "any") or want is None:
        return
    complaint = _CHECKS[kind](want, got, argument, place)
    if complaint:
        yield f"{place.path}: {complaint}, got {short(got)}"


Check = Callable[[Any, Any, str, Place], str | None]
"""Recorded value, actual value, argument of the mask, place → what was expected, or nothing."""


def _time(want: Any, got: Any, _: str, place: Place) -> str | None:
    if not _TIME.fullmatch(got):
        return "an RFC 3339 time expected"
    if "created_at" in place.path and want.endswith("Z") != got.endswith("Z"):
        return "a time in UTC expected"
    return None


def _seconds_from_now(_: Any, got: Any, argument: str, place: Place) -> str | None:
    moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", got.replace("Z", "+00:00")))
    off = moment.timestamp() - place.now - float(argument)
    return f"a time in {argument} s expected" if abs(off) > _CLOCK_SLACK_S else None


def _positive(want: Any, got: Any, *_: Any) -> str | None:
    good = got == want or (isinstance(got, int) and got > 0)
    return None if good else "a positive integer expected"


def _int(_: Any, got: Any, *__: Any) -> str | None:
    return None if isinstance(got, int) else "an integer expected"


def _text(want: Any, got: Any, *_: Any) -> str | None:
    return None if bool(want) == bool(got) else f"{'some' if want else 'no'} text expected"


def _json(want: Any, got: Any, *_: Any) -> str | None:
    return None if parsed(want) == parsed(got) else f"the JSON of {short(want)} expected"


def _string(_: Any, got: Any, *__: Any) -> str | None:
    return None if got else "some text expected"


def _engine(want: Any, got: Any, *_: Any) -> str | None:
    """An error of the engine passed on: JSON in a string; only the wording is free."""
    ours, theirs = parsed(want), parsed(got)
    if not isinstance(ours, dict) or "error" not in ours:
        return None if got else "some text expected"
    if not isinstance(theirs, dict) or not isinstance(theirs.get("error"), dict):
        return f"{short(want)} expected"
    ours, theirs = ours["error"], theirs["error"]
    same = all(theirs.get(key) == value for key, value in ours.items() if key != "message")
    return None if same and theirs.get("message") else f"{short(want)} expected"


def _matching(_: Any, got: Any, argument: str, __: Place) -> str | None:
    return None if re.fullmatch(argument, got) else f"a match of {argument} expected"


def _digest(_: Any, got: Any, *__: Any) -> str | None:
    return None if re.fullmatch(r"(sha256:)?[0-9a-f]{64}", got) else "a digest expected"


def _digests(want: Any, got: Any, *_: Any) -> str | None:
    return None if _without_digests(want) == _without_digests(got) else f"{short(want)} expected"


def _lines(want: Any, got: Any, *_: Any) -> str | None:
    ours, theirs = (sorted(_without_digests(text).split("\n")) for text in (want, got))
    return None if ours == theirs else f"the lines of {short(want)} expected"


def _count(want: Any, got: Any, argument: str, place: Place) -> str | None:
    """Generated tokens: exact when the budget ended both replies."""

    def at_limit(parent: Any) -> bool:
        return isinstance(parent, dict) and (argument == "exact" or parent.get("done_reason") == "length")

    if at_limit(place.want_parent) and at_limit(place.got_parent):
        return None if want == got else f"{want} expected"
    return None if isinstance(got, int) and (got > 0) == (want > 0) else "a count of tokens expected"


def _tokens(want: Any, got: Any, *_: Any) -> str | None:
    good = bool(want) == bool(got) and all(isinstance(token, int) for token in got)
    return None if good else "token ids expected"


def _vector(want: Any, got: Any, *_: Any) -> str | None:
    if len(want) != len(got):
        return f"{len(want)} values expected"
    ours, theirs = math.hypot(*want), math.hypot(*got)
    if not ours or not theirs:
        return None if ours == theirs else f"a vector of length {ours} expected"
    cosine = sum(a * b for a, b in zip(want, got, strict=True)) / ours / theirs
    if cosine < _LEAST_COSINE or abs(ours / theirs - 1) > _NORM_SLACK:
        return f"cosine {cosine:.5f}, norm {theirs:.4f} instead of {ours:.4f}: another vector expected"
    return None


def _vector64(want: Any, got: Any, argument: str, place: Place) -> str | None:
    def floats(text: str) -> list[float]:
        content = base64.b64decode(text)
        return list(struct.unpack(f"<{len(content) // 4}f", content))

    return _vector(floats(want), floats(got), argument, place)


def _logprobs(want: Any, got: Any, *_: Any) -> str | None:
    if bool(want) != bool(got):
        return f"{len(want)} entries expected"
    return next((complaint for entry in got if (complaint := _bad_logprob(want[0], entry))), None)


def _bad_logprob(like: dict[str, Any], entry: Any) -> str | None:
    """What is wrong with an entry, given a good one."""
    if not isinstance(entry, dict):
        return "an object expected"
    keys = [key for key in like if key != "bytes" or entry.get("token")]
    if [key for key in entry if key in like] != keys:
        return f"keys {keys} expected"
    token, logprob = entry["token"], entry["logprob"]
    if not isinstance(token, str) or json_type(logprob) != "number" or logprob > _LOGPROB_SLACK:
        return "a token and its log probability expected"
    if "bytes" in keys and "\ufffd" not in token and entry["bytes"] != list(token.encode()):
        return "the bytes of the token expected"
    if "top_logprobs" not in like:
        return None
    wanted, top = like["top_logprobs"], entry["top_logprobs"]
    if not isinstance(top, list) or len(top) != len(wanted):
        return f"{len(wanted)} top_logprobs expected"
    return next((complaint for other in top if (complaint := _bad_logprob(wanted[0], other))), None)


def _unordered(want: Any, got: Any, *_: Any) -> str | None:
    same = json.dumps(want, sort_keys=True) == json.dumps(got, sort_keys=True)
    return None if same else f"{short(want)} expected"


def _set(want: Any, got: Any, *_: Any) -> str | None:
    same = sorted(map(json.dumps, want)) == sorted(map(json.dumps, got))
    return None if same else f"{short(want)} in any order expected"


def _near(want: Any, got: Any, argument: str, _: Place) -> str | None:
    close = abs(got - want) <= float(argument) * max(abs(want), 1)
    return None if close else f"{want} within {argument} expected"


_CHECKS: Mapping[str, Check] = {
    "time": _time,
    "in": _seconds_from_now,
    "ns": _positive,
    "positive": _positive,
    "int": _int,
    "near": _near,
    "text": _text,
    "json": _json,
    "string": _string,
    "engine": _engine,
    "re": _matching,
    "digest": _digest,
    "digests": _digests,
    "lines": _lines,
    "count": _count,
    "tokens": _tokens,
    "vector": _vector,
    "vector64": _vector64,
    "logprobs": _logprobs,
    "unordered": _unordered,
    "set": _set,
}


def json_type(value: Any) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case _:
            return "object"


def parsed(text: Any) -> Any:
    """The JSON in a string; what is none stays apart from everything."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return ("no JSON", text)


def short(value: Any) -> str:
    """``value`` for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _without_digests(text: str) -> str:
    return _DIGEST.sub("DIGEST", text)


def _generic(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path)


def _line(path: str, want: Any, got: Any) -> str:
    return f"{path or '.'}: {short(want)} expected, got {short(got)}"
