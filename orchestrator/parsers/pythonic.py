"""Calls written like Python: ``name(key=value, …)``.

Source: ``parsers`` §5.8, §5.14.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.json_text import NotJson, value, without_half_pairs
from orchestrator.parsers.text import trim
from orchestrator.parsers.values import decimal

_STRING = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'"""
_TOKEN = re.compile(rf"""{_STRING}|[()\[\]{{}},:"']""", re.DOTALL)
_WHOLE_STRING = re.compile(_STRING, re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_KEY = re.compile(r"""[^\s"'()\[\]{},]+""")
_DIGIT_GAP = re.compile(r"(?<=[0-9])_(?=[0-9])")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_DEEPEST = 50
"""How deep lists and maps may be nested; deeper ones are text."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How values are written."""

    words: Mapping[str, Any]
    escapes: Mapping[str, str]
    """What a letter after a backslash stands for; other backslashes are text."""
    unicode_escapes: bool = False
    digit_gaps: bool = False
    """Whether underscores may stand between digits."""
    bare_items: bool = False
    """Whether text without quotes may stand in lists and maps."""
    empty_values: bool = False
    json_collections: bool = False
    """Whether lists and maps are read as JSON first."""
    name: str = r"""[^\s"'()\[\]{},=:]+"""
    """The pattern of a function's name."""


class Malformed(ValueError):
    """Text that is no call."""


def split(text: str, separator: str = ",") -> list[str]:
    """The parts of ``text`` between separators that stand in no quotes and no brackets.

    Raises ``Malformed`` for a quote or a bracket without its partner.
    """
    open_brackets: list[str] = []
    parts: list[str] = []
    start = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in _CLOSING:
            open_brackets.append(_CLOSING[token])
        elif token in (")", "]", "}"):
            if not open_brackets or open_brackets.pop() != token:
                raise Malformed(f"{token} closes nothing")
        elif token in ('"', "'"):
            raise Malformed("open quote")
        elif token == separator and not open_brackets:
            parts.append(text[start : match.start()])
            start = match.end()
    if open_brackets:
        raise Malformed("open bracket")
    return [*parts, text[start:]]


def read_call(text: str, dialect: Dialect) -> ToolCall:
    """The call that is all of ``text``. Raises ``Malformed``."""
    found = re.fullmatch(rf"(?P<name>{dialect.name})\s*\((?P<arguments>.*)\)", trim(text), re.DOTALL)
    if not found:
        raise Malformed("no call")
    arguments: dict[str, Any] = {}
    parts = split(found["arguments"])
    if not trim(parts[-1]):
        parts.pop()
    for part in parts:
        key, sign, written = part.partition("=")
        if not sign or not _KEY.fullmatch(trim(key)) or not (trim(written) or dialect.empty_values):
            raise Malformed("argument without name or value")
        arguments[trim(key)] = read_value(written, dialect)
    return ToolCall(found["name"], arguments)


def read_value(text: str, dialect: Dialect) -> Any:
    """The value ``text`` stands for; what is no value is text."""
    try:
        if dialect.json_collections and trim(text)[:1] in ("[", "{"):
            return value(trim(text))
    except NotJson:
        pass
    try:
        return _literal(trim(text), dialect, 0)
    except Malformed:
        return trim(text)


def _literal(text: str, dialect: Dialect, depth: int) -> Any:
    if _WHOLE_STRING.fullmatch(text):
        return unescaped(text[1:-1], dialect)
    if text in dialect.words:
        return dialect.words[text]
    if (number := decimal(_DIGIT_GAP.sub("", text) if dialect.digit_gaps else text)) is not None:
        return number
    if depth < _DEEPEST and text[:1] == "[" and text[-1:] == "]":
        return [_item(part, dialect, depth) for part in _items(text)]
    if depth < _DEEPEST and text[:1] == "{" and text[-1:] == "}":
        return dict(_member(part, dialect, depth) for part in _items(text))
    raise Malformed("no literal")


def _items(text: str) -> list[str]:
    parts = split(text[1:-1])
    return parts if trim(parts[-1]) else parts[:-1]


def _item(text: str, dialect: Dialect, depth: int) -> Any:
    try:
        return _literal(trim(text), dialect, depth + 1)
    except Malformed:
        if dialect.bare_items:
            return trim(text)
        raise


def _member(text: str, dialect: Dialect, depth: int) -> tuple[str, Any]:
    key, *values = split(text, ":")
    if not values:
        raise Malformed("member without value")
    name = _item(key, dialect, _DEEPEST)
    return name if isinstance(name, str) else trim(key), _item(":".join(values), dialect, depth)


def unescaped(text: str, dialect: Dialect) -> str:
    """The text between quotes with its escapes read."""
    if "\\" not in text:
        return text
    return without_half_pairs(_ESCAPE.sub(lambda match: _character(match, dialect), text))


def _character(match: re.Match[str], dialect: Dialect) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16)) if dialect.unicode_escapes else match[0]
    return dialect.escapes.get(code, match[0])
