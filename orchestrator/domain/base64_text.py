"""Bytes written as base64 text: the standard alphabet, padded, line ends anywhere in it passed over."""

from __future__ import annotations

import binascii
import string

_ALPHABET = frozenset((string.ascii_letters + string.digits + "+/").encode())
_LINE_ENDS = frozenset(b"\r\n")
_PAD = ord("=")
_GROUP = 4


class IllegalBase64(ValueError):
    """Text that is no base64, in the words of Go's decoder."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"illegal base64 data at input byte {offset}")
        self.offset = offset


def decode_base64(text: str) -> bytes:
    """The bytes in ``text``. Raises ``IllegalBase64``."""
    whole = text.replace("\n", "").replace("\r", "") if "\n" in text or "\r" in text else text
    try:
        return binascii.a2b_base64(whole, strict_mode=True)
    except ValueError as error:
        raise IllegalBase64(_fault(text.encode("utf-8", "replace"))) from error


def _fault(raw: bytes) -> int:
    """Where Go's decoder gives up: at a character of another alphabet, at an end that is none, behind one."""
    places = [place for place, byte in enumerate(raw) if byte not in _LINE_ENDS]
    wrong = next((index for index, place in enumerate(places) if raw[place] not in _ALPHABET), len(places))
    filled = wrong % _GROUP
    if wrong == len(places):
        return len(raw) - filled
    if raw[places[wrong]] != _PAD or filled < 2:
        return places[wrong]
    end = wrong + _GROUP - filled  # the first character behind the padding
    if filled == 2 and wrong + 1 >= len(places):
        return len(raw)
    if filled == 2 and raw[places[wrong + 1]] != _PAD:
        return places[wrong]
    return places[end] if end < len(places) else len(raw)
