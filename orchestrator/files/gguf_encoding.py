"""Parts of a GGUF file as bytes, in the order of bytes that everybody writes: little-endian.

Source: ``gguf-convert`` §1.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from orchestrator.files.ggml import TENSOR_CODES

__all__ = ["file_head", "index_entry", "key_value", "text"]

_LETTERS = {
    "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "?",
    "u64": "Q", "i64": "q", "f64": "d",
}  # fmt: skip
_CODES = {
    "u8": 0, "i8": 1, "u16": 2, "i16": 3, "u32": 4, "i32": 5, "f32": 6, "bool": 7, "str": 8, "arr": 9,
    "u64": 10, "i64": 11, "f64": 12,
}  # fmt: skip
_VERSION = 3


def file_head(*, tensors: int, keys: int) -> bytes:
    """What a file begins with."""
    return b"GGUF" + struct.pack("<IQQ", _VERSION, tensors, keys)


def key_value(key: str, kind: str, value: Any) -> bytes:
    """A key with its value; ``kind`` is a type as ``GgufHeader.types`` has it: ``u32``, ``arr:str`` …

    Raises ``OverflowError`` for a number that the type does not hold.
    """
    outer, _, element = kind.partition(":")
    front = text(key) + struct.pack("<I", _CODES[outer])
    if not element:
        return front + _plain(kind, [value])
    return front + struct.pack("<IQ", _CODES[element], len(value)) + _plain(element, value)


def index_entry(name: str, shape: Sequence[int], kind: str, offset: int) -> bytes:
    """An entry of the tensor index; ``offset`` counts from the start of the data."""
    lengths = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + lengths + struct.pack("<IQ", TENSOR_CODES[kind], offset)


def text(value: str) -> bytes:
    """A string with its length in front."""
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _plain(kind: str, values: Sequence[Any]) -> bytes:
    if kind == "str":
        return b"".join(map(text, values))
    try:
        return struct.pack(f"<{len(values)}{_LETTERS[kind]}", *values)
    except struct.error as error:
        raise OverflowError(f"a number is out of range: {error}") from error
