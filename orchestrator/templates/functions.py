"""The functions a template may call: Go's own, and those Ollama adds.

Each raises ``ExecutionFault`` where Go's would fail. ``and`` and ``or`` decide which of their operands are
evaluated at all, so the evaluator has them built in.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import quote_plus

from orchestrator.templates import printf
from orchestrator.templates.values import (
    ABSENT,
    MESSAGE,
    PROPERTY,
    ExecutionFault,
    NilList,
    Record,
    Value,
    inner_text,
    json_text,
    kind,
    operand_text,
    text,
)

MAX_TEXT = 16 * 1024 * 1024
"""Characters a function may make at once."""


@dataclass(frozen=True, slots=True)
class TemplateFunction:
    """What to call, and how many arguments it takes; ``most`` is ``None`` for any number."""

    call: Callable[..., Value]
    least: int
    most: int | None


def _joined(parts: Sequence[str]) -> str:
    if sum(map(len, parts)) > MAX_TEXT:
        raise ExecutionFault("the text gets too long")
    return "".join(parts)


def _is_nil(value: Value) -> bool:
    return value is None or value is ABSENT


# -- comparison

_BASIC = frozenset(("bool", "int", "float64", "string"))


def _eq(first: Value, *others: Value) -> bool:
    if not others:
        raise ExecutionFault("error calling eq: missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: Value, second: Value) -> bool:
    if _is_nil(first) or _is_nil(second):
        return all(_is_nil(value) or isinstance(value, NilList) for value in (first, second))
    left, right = kind(first), kind(second)
    if left != right and (left in _BASIC or right in _BASIC):
        raise ExecutionFault(f"error calling eq: incompatible types for comparison: {left} and {right}")
    if left in _BASIC:
        return bool(first == second)
    if left == right == MESSAGE:
        return first is second
    if left == right == "slice" and (isinstance(first, NilList) or isinstance(second, NilList)):
        return isinstance(first, NilList) and isinstance(second, NilList)
    raise ExecutionFault(f"error calling eq: non-comparable type: {left}")


def _less(first: Value, second: Value) -> bool:
    left, right = kind(first), kind(second)
    if left not in _BASIC or right not in _BASIC or left == right == "bool":
        raise ExecutionFault("error calling lt: invalid type for comparison")
    if left != right:
        raise ExecutionFault(f"error calling lt: incompatible types for comparison: {left} and {right}")
    return bool(first < second)


def _at_most(first: Value, second: Value) -> bool:
    return _less(first, second) or _equal(first, second)


# -- parts of values


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _len(value: Value) -> int:
    match value:
        case str():
            return len(value) if value.isascii() else len(_octets(value))
        case list() | tuple() | dict() | bytes():
            return len(value)
        case _ if _is_nil(value):
            raise ExecutionFault("error calling len: len of nil pointer")
        case _:
            raise ExecutionFault(f"error calling len: len of type {kind(value)}")


def _position(value: Value, end: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ExecutionFault(f"cannot index slice/array with {kind(value)}")
    if not 0 <= value < end:
        raise ExecutionFault(f"index out of range: {value}")
    return value


def _index(value: Value, *indexes: Value) -> Value:
    if _is_nil(value):
        raise ExecutionFault("error calling index: index of untyped nil")
    for index in indexes:
        value = _member(value, index)
    return value


def _member(value: Value, index: Value) -> Value:
    match value:
        case list() | tuple() | bytes():
            return value[_position(index, len(value))]
        case str():
            octets = _octets(value)
            return octets[_position(index, len(octets))]
        case dict():
            if not isinstance(index, str):
                raise ExecutionFault(f"error calling index: value has type {kind(index)}; should be string")
            return value.get(index)
        case _ if _is_nil(value):
            raise ExecutionFault("error calling index: index of nil pointer")
        case _:
            raise ExecutionFault(f"error calling index: can't index item of type {kind(value)}")


def _slice(value: Value, *indexes: Value) -> Value:
    if _is_nil(value):
        raise ExecutionFault("error calling slice: slice of untyped nil")
    if isinstance(value, str):
        if len(indexes) == 3:
            raise ExecutionFault("error calling slice: cannot 3-index slice a string")
        octets = _octets(value)
        start, end = _bounds(indexes, len(octets))
        return octets[start:end].decode("utf-8", "surrogateescape")
    if not isinstance(value, list | tuple):
        raise ExecutionFault(f"error calling slice: can't slice item of type {kind(value)}")
    start, end = _bounds(indexes, len(value))
    part = value[start:end]
    return type(value)(part) if type(value) not in (list, tuple) else part


def _bounds(indexes: Sequence[Value], size: int) -> tuple[int, int]:
    if len(indexes) > 3:
        raise ExecutionFault(f"error calling slice: too many slice indexes: {len(indexes)}")
    positions = [_position(index, size + 1) for index in indexes]
    if positions != sorted(positions):
        raise ExecutionFault(f"error calling slice: invalid slice index: {positions[0]} > {positions[-1]}")
    start = positions[0] if positions else 0
    return start, positions[1] if len(positions) > 1 else size


# -- text


def _print(*values: Value) -> str:
    return _joined(printf.sprint(values))


def _println(*values: Value) -> str:
    return _joined((" ".join(map(operand_text, values)), "\n"))


def _printf(layout: Value, *values: Value) -> str:
    if not isinstance(layout, str):
        raise ExecutionFault(f"wrong type for value; expected string; got {kind(layout)}")
    return _joined(printf.sprintf(layout, values))


def _escapable(values: Sequence[Value]) -> str:
    """What the functions below escape: each operand as it is printed by itself."""
    return _joined(printf.sprint([text(value) if _is_nil(value) else value for value in values], inner_text))


def _html(*values: Value) -> str:
    escaped = html.escape(_escapable(values), quote=False)
    return escaped.replace('"', "&#34;").replace("'", "&#39;").replace("\0", "\ufffd")


_JS_ESCAPES = {
    "\\": r"\\", "'": r"\'", '"': r"\"", "<": r"\u003C", ">": r"\u003E", "&": r"\u0026", "=": r"\u003D",
}  # fmt: skip


def _js(*values: Value) -> str:
    return "".join(map(_js_escaped, _escapable(values)))


def _js_escaped(character: str) -> str:
    if (known := _JS_ESCAPES.get(character)) is not None:
        return known
    if character.isprintable() or character == "\x7f" or 0xDC80 <= ord(character) <= 0xDCFF:
        return character
    return f"\\u{ord(character):04X}"


def _urlquery(*values: Value) -> str:
    return quote_plus(_octets(_escapable(values)), safe="")


def _call(function: Value, *_: Value) -> Value:
    shown = "nil" if _is_nil(function) else f"type {kind(function)}"
    raise ExecutionFault(f"error calling call: non-function of {shown}")


# -- added by Ollama


def _texts_only(values: Sequence[Value]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise ExecutionFault(f"wrong type for value; expected string; got {kind(value)}")


def _current_date(*layout: Value) -> str:
    _texts_only(layout)
    return date.today().isoformat()


def _yesterday_date(*layout: Value) -> str:
    _texts_only(layout)
    return (date.today() - timedelta(days=1)).isoformat()


def _typescript_type(value: Value) -> str:
    is_property = isinstance(value, Record) and value.kind == PROPERTY
    return str(value.fields["ToTypeScriptType"]) if is_property else "any"


def _exactly(count: int, call: Callable[..., Value]) -> TemplateFunction:
    return TemplateFunction(call, count, count)


def _at_least(count: int, call: Callable[..., Value]) -> TemplateFunction:
    return TemplateFunction(call, count, None)


FUNCTIONS: Mapping[str, TemplateFunction] = {
    "and": _at_least(1, all),
    "or": _at_least(1, any),
    "not": _exactly(1, lambda value: not value),
    "eq": _at_least(1, _eq),
    "ne": _exactly(2, lambda first, second: not _equal(first, second)),
    "lt": _exactly(2, _less),
    "le": _exactly(2, _at_most),
    "gt": _exactly(2, lambda first, second: not _at_most(first, second)),
    "ge": _exactly(2, lambda first, second: not _less(first, second)),
    "len": _exactly(1, _len),
    "index": _at_least(1, _index),
    "slice": _at_least(1, _slice),
    "print": _at_least(0, _print),
    "println": _at_least(0, _println),
    "printf": _at_least(1, _printf),
    "html": _at_least(0, _html),
    "js": _at_least(0, _js),
    "urlquery": _at_least(0, _urlquery),
    "call": _at_least(1, _call),
    "json": _exactly(1, json_text),
    "currentDate": _at_least(0, _current_date),
    "yesterdayDate": _at_least(0, _yesterday_date),
    "toTypeScriptType": _exactly(1, _typescript_type),
}
"""Function by name. The calls of ``and`` and ``or`` are not used."""
