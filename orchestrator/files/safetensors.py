"""Reading safetensors files: the header, bounded and checked, and tensors as memory maps.

Every entry must lie inside the file, have the size its shape and type give, and overlap no other.
Source: ``gguf-convert`` §2.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from orchestrator.domain.json_value import parse_json
from orchestrator.files.errors import MalformedSafetensors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_HEADER_BYTES = 32 << 20
MAX_DIMENSIONS = 8

_NUMPY_TYPES: Mapping[str, str] = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "F8_E4M3": "u1", "F8_E5M2": "u1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "BOOL": "?",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip
"""numpy types of the stored values; types numpy does not have appear as the integers of their bits."""

_SIZES: Mapping[str, int] = {name: 1 if code == "?" else int(code[-1]) for name, code in _NUMPY_TYPES.items()}


@dataclass(frozen=True, slots=True)
class SafetensorsTensor:
    """One tensor of a file."""

    path: Path
    name: str
    dtype: str
    """``F32``, ``BF16`` …"""
    shape: tuple[int, ...]
    """Outermost dimension first."""
    offset: int
    """From the start of the file."""
    size_bytes: int

    def stored(self) -> NDArray[Any]:
        """The values as they are stored, mapped into memory; BF16 and 8-bit floats as their bits."""
        import numpy as np  # takes a fifth of a second, and few commands need it

        if self.size_bytes == 0:
            return np.zeros(self.shape, _NUMPY_TYPES[self.dtype])
        return np.memmap(self.path, _NUMPY_TYPES[self.dtype], "r", self.offset, self.shape)

    def float32(self) -> NDArray[np.float32]:
        """The values of a floating-point tensor in single precision."""
        import numpy as np

        stored = self.stored()
        match self.dtype:
            case "F64" | "F32" | "F16":
                with np.errstate(over="ignore"):
                    return stored.astype(np.float32, copy=False)
            case "BF16":
                return (stored.astype(np.uint32) << 16).view(np.float32)
        raise MalformedSafetensors(
            f'{self.path.name}: tensor "{self.name}" is of type {self.dtype}, not a float'
        )


def read_safetensors(path: Path) -> dict[str, SafetensorsTensor]:
    """The tensors of a file by name, names sorted. Raises ``MalformedSafetensors`` and ``OSError``."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            _refuse(path, f"header length {length} exceeds file size {size}")
        if length > MAX_HEADER_BYTES:
            _refuse(path, f"header length {length} exceeds maximum {MAX_HEADER_BYTES}")
        header = _header(path, file.read(length))
    start = 8 + length
    tensors = [
        _tensor(path, name, entry, start, size)
        for name, entry in sorted(header.items())
        if name != "__metadata__" and isinstance(entry, dict) and "dtype" in entry
    ]
    _check_overlap(path, tensors)
    return {tensor.name: tensor for tensor in tensors}


def _header(path: Path, raw: bytes) -> dict[str, Any]:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            _refuse(path, "a name appears twice in the header")
        return members

    try:
        header = parse_json(raw, object_pairs_hook=distinct)
    except ValueError as error:
        raise MalformedSafetensors(f"{path.name}: header is not JSON: {error}") from error
    if not isinstance(header, dict):
        _refuse(path, "header is not an object")
    return header


def _tensor(path: Path, name: str, entry: dict[str, Any], start: int, file_size: int) -> SafetensorsTensor:
    def refuse(reason: str) -> NoReturn:
        _refuse(path, f'tensor "{name}": {reason}')

    dtype, shape, offsets = entry["dtype"], entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in _SIZES:
        refuse(f"unknown data type: {dtype}")
    if not _are_counts(shape) or len(shape) > MAX_DIMENSIONS:
        refuse(f"bad shape {shape}")
    if not _are_counts(offsets) or len(offsets) != 2:
        refuse(f"bad data offsets {offsets}")
    begin, end = offsets
    wanted = math.prod(shape) * _SIZES[dtype]
    if not begin <= end <= file_size - start:
        refuse(f"data offsets {offsets} are outside of the {file_size - start} bytes of data")
    if end - begin != wanted:
        refuse(f"shape {shape} of {dtype} takes {wanted} bytes, not {end - begin}")
    return SafetensorsTensor(path, name, dtype, tuple(shape), start + begin, wanted)


def _check_overlap(path: Path, tensors: Iterable[SafetensorsTensor]) -> None:
    end = 0
    for tensor in sorted(tensors, key=lambda tensor: (tensor.offset, tensor.size_bytes)):
        if tensor.offset < end and tensor.size_bytes:
            _refuse(path, f'tensor "{tensor.name}": data overlaps that of another tensor')
        end = max(end, tensor.offset + tensor.size_bytes)


def _are_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(
        isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0 for entry in value
    )


def _refuse(path: Path, reason: str) -> NoReturn:
    raise MalformedSafetensors(f"{path.name}: {reason}")
