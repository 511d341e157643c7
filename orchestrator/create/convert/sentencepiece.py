"""Reading ``tokenizer.model``, the file of a SentencePiece tokenizer.

It is a protocol buffer, of which three fields are of use: the pieces, and whether a space is put in front of
a text. Source: the public ``sentencepiece_model.proto``; ``gguf-convert`` §3.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.create.convert.errors import ConversionFailed

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PIECES, _NORMALIZER = 1, 3
_PIECE_TEXT, _PIECE_SCORE, _PIECE_TYPE = 1, 2, 3
_ADD_DUMMY_PREFIX = 3
_NORMAL = 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A token."""

    text: str
    score: float = 0.0
    type: int = _NORMAL
    """Numbered as GGUF numbers them."""


@dataclass(frozen=True, slots=True)
class SentencePieceModel:
    """What is kept of the file."""

    pieces: tuple[Piece, ...]
    adds_space: bool = True
    """A space is put in front of a text."""


def read_sentencepiece(content: bytes) -> SentencePieceModel:
    """The model in ``content``. Raises ``ConversionFailed``."""
    pieces = []
    adds_space = True
    for number, value in _fields(content):
        if number == _PIECES:
            pieces.append(_piece(_bytes(value)))
        elif number == _NORMALIZER:
            adds_space = _adds_space(_bytes(value), adds_space)
    return SentencePieceModel(tuple(pieces), adds_space)


def _adds_space(normalizer: bytes, default: bool) -> bool:
    """What a normalizer says of the space before a text; ``default`` if it does not."""
    settings = [setting for field, setting in _fields(normalizer) if field == _ADD_DUMMY_PREFIX]
    return bool(settings[-1]) if settings else default


def _piece(content: bytes) -> Piece:
    text, score, kind = "", 0.0, _NORMAL
    for number, value in _fields(content):
        if number == _PIECE_TEXT:
            text = _bytes(value).decode("utf-8", "replace")
        elif number == _PIECE_SCORE and len(_bytes(value)) == 4:
            (score,) = struct.unpack("<f", _bytes(value))
        elif number == _PIECE_TYPE and isinstance(value, int):
            kind = value
    return Piece(text, score, kind)


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of a message; numbers of fixed size as their bytes."""
    position = 0
    while position < len(content):
        tag, position = _varint(content, position)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, position = _varint(content, position)
            yield number, value
            continue
        if kind == _BYTES:
            size, position = _varint(content, position)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise _damaged()
        if position + size > len(content):
            raise _damaged()
        yield number, content[position : position + size]
        position += size


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    value = 0
    for shift in range(0, 64, 7):
        if position >= len(content):
            break
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _damaged()


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _damaged()
    return value


def _damaged() -> ConversionFailed:
    return ConversionFailed("parse tokenizer.model: it is no SentencePiece model")
