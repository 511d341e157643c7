"""Small GGUF files made by hand, for tests.

``struct`` only, so that no reader or writer under test is used to make its own input, and so that files
can be wrong on purpose.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.files.ggml import TENSOR_TYPES

VALUE_CODES = {
    "u8": 0, "i8": 1, "u16": 2, "i16": 3, "u32": 4, "i32": 5, "f32": 6, "bool": 7, "str": 8, "arr": 9,
    "u64": 10, "i64": 11, "f64": 12,
}  # fmt: skip
_LETTERS = {
    "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "?",
    "u64": "Q", "i64": "q", "f64": "d",
}  # fmt: skip
_TYPE_CODES = {stored.name: code for code, stored in TENSOR_TYPES.items()}


@dataclass(frozen=True)
class Typed:
    """A metadata value whose stored type matters: ``Typed("u64", 7)``, ``Typed("arr:i32", [1, 2])``."""

    type: str
    value: Any


@dataclass(frozen=True)
class Tensor:
    """A tensor to be written; ``data`` of zeros in the right size unless given. Shape innermost first."""

    name: str
    shape: tuple[int, ...]
    type: str = "F32"
    data: bytes | None = None

    @property
    def bytes(self) -> bytes:
        if self.data is not None:
            return self.data
        stored = TENSOR_TYPES[_TYPE_CODES[self.type]]
        return bytes(math.prod(self.shape) // stored.block_size * stored.block_bytes)


def build_gguf(
    metadata: Mapping[str, Any],
    tensors: Sequence[Tensor] = (),
    version: int = 3,
    big_endian: bool = False,
    alignment: int = 32,
) -> bytes:
    """A GGUF file.

    Types follow from the values unless ``Typed``: ``int`` is u32 (i32 if negative), ``float`` f32, ``bool``,
    ``str``, ``bytes`` a string as it is, and a list an array of its first element's type (empty: of strings).
    """
    order = ">" if big_endian else "<"
    out = bytearray(b"FUGG" if big_endian else b"GGUF")
    out += struct.pack(f"{order}IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        out += _text(order, key) + _value(order, value)
    offset = 0
    for tensor in tensors:
        out += _text(order, tensor.name) + struct.pack(f"{order}I", len(tensor.shape))
        out += struct.pack(f"{order}{len(tensor.shape)}Q", *tensor.shape)
        out += struct.pack(f"{order}IQ", _TYPE_CODES[tensor.type], offset)
        offset += len(tensor.bytes) + -len(tensor.bytes) % alignment
    for tensor in tensors:
        out += bytes(-len(out) % alignment) + tensor.bytes
    return bytes(out)


def _text(order: str, text: str | bytes) -> bytes:
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack(f"{order}Q", len(raw)) + raw


def _type_of(value: Any) -> str:
    match value:
        case Typed(type=name):
            return name
        case bool():
            return "bool"
        case int():
            return "u32" if value >= 0 else "i32"
        case float():
            return "f32"
        case str() | bytes():
            return "str"
        case [first, *_]:
            return f"arr:{_type_of(first)}"
        case []:
            return "arr:str"
    raise TypeError(f"no GGUF type for {value!r}")


def _value(order: str, value: Any) -> bytes:
    name = _type_of(value)
    plain = value.value if isinstance(value, Typed) else value
    kind, _, element = name.partition(":")
    if kind != "arr":
        return struct.pack(f"{order}I", VALUE_CODES[kind]) + _plain(order, kind, plain)
    packed = b"".join(_plain(order, element, entry) for entry in plain)
    return struct.pack(f"{order}IIQ", VALUE_CODES["arr"], VALUE_CODES[element], len(plain)) + packed


def _plain(order: str, kind: str, value: Any) -> bytes:
    return _text(order, value) if kind == "str" else struct.pack(f"{order}{_LETTERS[kind]}", value)
