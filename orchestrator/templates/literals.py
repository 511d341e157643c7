"""Constants in actions: what Go's strings, characters and numbers stand for."""

from __future__ import annotations

import math
import re
from contextlib import suppress

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_INTEGER = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|[1-9](?:_?[0-9])*|0)"
)
_DIGITS, _HEX_DIGITS = "[0-9](?:_?[0-9])*", "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_FLOAT = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_FLOAT = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
MAX_INTEGER = 2**63 - 1
"""Constants up to twice this one can be written, but not used."""
_MAX_UNSIGNED = 2**64 - 1


class BadConstant(ValueError):
    """The spelling of a constant is wrong; the message says how."""


def string(token: str) -> str:
    """The value of a quoted string, quotes included. Bytes that are no UTF-8 become lone surrogates."""
    if token.startswith("`"):
        return token[1:-1].replace("\r", "")
    return _unescape(token[1:-1], quote='"')


def character(token: str) -> int:
    """The code point of a character constant."""
    inner = token[1:-1]
    text = _unescape(inner, quote="'")
    if len(text) != 1 or not (len(inner) == 1 or _ESCAPE.fullmatch(inner)):
        raise BadConstant(f"malformed character constant: {token}")
    code = ord(text)
    return code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code


def number(token: str) -> int | float:
    """The value of a number: an integer unless it is written with a point or an exponent."""
    if _INTEGER.fullmatch(token):
        value = int(_as_python(token), 0)
        if not -MAX_INTEGER - 1 <= value <= _MAX_UNSIGNED:
            raise BadConstant(f'integer overflow: "{token}"')
        return value
    return _float(token)


def _float(token: str) -> float:
    plain = token.replace("_", "")
    value = math.inf
    if _HEX_FLOAT.fullmatch(token):
        with suppress(OverflowError):
            value = float.fromhex(plain)
    elif _FLOAT.fullmatch(token) and any(mark in token for mark in ".eE"):
        value = float(plain)
    if math.isinf(value):
        raise BadConstant(f'illegal number syntax: "{token}"')
    return value


def _as_python(token: str) -> str:
    """Go's leading zero means octal; Python wants ``0o``."""
    sign, digits = (token[0], token[1:]) if token[0] in "+-" else ("", token)
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567_":
        digits = "0o" + digits[1:].lstrip("_")
    return sign + digits


def _unescape(text: str, *, quote: str) -> str:
    if "\\" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        byte_hex, octal, short, long, letter = match.groups()
        if letter is not None:
            if letter == quote:
                return quote
            if letter in _LETTERS:
                return _LETTERS[letter]
            raise BadConstant("invalid syntax")
        if byte_hex or octal:
            return _byte(int(byte_hex, 16) if byte_hex else int(octal, 8))
        return _rune(int(short or long, 16))

    unescaped = _ESCAPE.sub(value, text)
    # bytes written one by one may spell a character
    return unescaped.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _byte(value: int) -> str:
    if value > 0xFF:
        raise BadConstant("invalid syntax")
    return bytes((value,)).decode("utf-8", "surrogateescape")


def _rune(value: int) -> str:
    if value > 0x10FFFF or 0xD800 <= value < 0xE000:
        raise BadConstant("invalid syntax")
    return chr(value)
