"""Writing a GGUF file, tensor by tensor, so that only one is in memory.

Source: ``gguf-convert`` §1.3.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType, GGUFWriter

from orchestrator.create.convert.base import GgufContent, MetadataValue, OutputTensor, StoredType, Uints

_PLAIN_PREFIXES = ("general.", "tokenizer.", "adapter.")

_STORED: Mapping[StoredType, tuple[GGMLQuantizationType, Any]] = {
    "F32": (GGMLQuantizationType.F32, np.dtype("<f4")),
    "F16": (GGMLQuantizationType.F16, np.dtype("<f2")),
    "BF16": (GGMLQuantizationType.BF16, np.dtype("<u2")),
    "MXFP4": (GGMLQuantizationType.MXFP4, np.dtype("u1")),
}


def write_gguf(path: Path, content: GgufContent) -> Generator[int, None, None]:
    """Write ``content`` to ``path``, which appears only when it is complete.

    Gives after each tensor how many bytes of tensors are written; to be closed by whoever wants no more.
    """
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        unfinished = Path(file.name)
    try:
        yield from _written(unfinished, content)
        unfinished.chmod(0o644)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _written(path: Path, content: GgufContent) -> Generator[int, None, None]:
    writer = GGUFWriter(path, content.architecture)
    try:
        for key, value in _sorted_metadata(content):
            plain = value.values if isinstance(value, Uints) else value
            writer.add_key_value(key, plain, *_value_types(value))
        tensors = sorted(content.tensors, key=_place)
        for tensor in tensors:
            kind, dtype = _STORED[tensor.stored]
            writer.add_tensor_info(tensor.name, _stored_shape(tensor), dtype, _size_bytes(tensor), kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        written_bytes = 0
        for tensor in tensors:
            values = np.ascontiguousarray(tensor.read(), _STORED[tensor.stored][1])
            writer.write_tensor_data(values)
            written_bytes += values.nbytes
            yield written_bytes
    finally:
        writer.close()


def _sorted_metadata(content: GgufContent) -> list[tuple[str, MetadataValue]]:
    """Full keys in order; the writer puts the architecture in front of them, where quick readers look."""
    return sorted(
        (key if key.startswith(_PLAIN_PREFIXES) else f"{content.architecture}.{key}", value)
        for key, value in content.metadata.items()
    )


def _place(tensor: OutputTensor) -> tuple[float, str]:
    """Tensors of network layers in order of their layers, then the others."""
    parts = tensor.name.split(".")
    in_block = parts[0] == "blk" and len(parts) > 2 and parts[1].isdecimal()
    return (int(parts[1]) if in_block else math.inf, tensor.name)


def _stored_shape(tensor: OutputTensor) -> tuple[int, ...]:
    """The shape of the array that ``read`` gives: numbers in blocks are counted in bytes."""
    block, block_bytes = GGML_QUANT_SIZES[_STORED[tensor.stored][0]]
    if block == 1:
        return tensor.shape
    return (*tensor.shape[:-1], tensor.shape[-1] // block * block_bytes)


def _size_bytes(tensor: OutputTensor) -> int:
    return math.prod(_stored_shape(tensor)) * int(_STORED[tensor.stored][1].itemsize)


def _value_types(value: MetadataValue) -> tuple[GGUFValueType, GGUFValueType | None]:
    if isinstance(value, Uints):
        return GGUFValueType.ARRAY, GGUFValueType.UINT32
    if isinstance(value, Sequence) and not isinstance(value, str):
        return GGUFValueType.ARRAY, _scalar_type(value[0], GGUFValueType.INT32)
    return _scalar_type(value, GGUFValueType.UINT32), None


def _scalar_type(value: bool | int | float | str, whole: GGUFValueType) -> GGUFValueType:
    match value:
        case bool():
            return GGUFValueType.BOOL
        case int():
            return whole
        case float():
            return GGUFValueType.FLOAT32
        case str():
            return GGUFValueType.STRING
