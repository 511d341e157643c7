"""Weights in FP8 with one scale per block, as DeepSeek and others publish them, become BF16.

Source: ``gguf-convert`` §2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.create.convert.base import OutputTensor
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.reshaping import as_stored
from orchestrator.files.safetensors import SafetensorsTensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from orchestrator.create.convert.config import Config

FP8 = "F8_E4M3"

_SECTIONS = ("quantization", "quantization_config", "compression_config")
_ENDINGS = ("_scale", "_scale_inv", ".scale", ".scale_inv")
_GROUPED = ("compressed-tensors", "float-quantized")
_SCALE_TYPES = frozenset({"F32", "F16", "BF16"})

BlockSize = tuple[int, int]


def scales_of(sources: Mapping[str, SafetensorsTensor]) -> dict[str, SafetensorsTensor]:
    """The scale of each weight in FP8, by the weight's name. Raises ``ConversionFailed``."""
    return {name: _scale(name, sources) for name, source in sources.items() if source.dtype == FP8}


def block_size(config: Config) -> BlockSize | None:
    """Rows and columns that share a scale, if the configuration says so. Raises ``ConversionFailed``."""
    found: BlockSize | None = None
    for size in _sizes(config):
        if found not in (None, size):
            raise ConversionFailed(
                f"multiple fp8 block sizes in config.json: {_product(found)} and {_product(size)}"
            )
        found = size
    return found


def decoded(
    name: str, source: SafetensorsTensor, scale: SafetensorsTensor, size: BlockSize | None
) -> OutputTensor:
    """A weight called ``name`` in the file to be written. Raises ``ConversionFailed``."""
    if size is None:
        raise ConversionFailed(f'missing fp8 block size metadata for tensor "{source.name}"')
    if len(source.shape) != 2:
        raise ConversionFailed(f'expected 2D fp8 tensor "{source.name}", got shape {_shape(source.shape)}')
    wanted = tuple(-(-rows // block) for rows, block in zip(source.shape, size, strict=True))
    if scale.shape != wanted:
        raise ConversionFailed(
            f'unexpected fp8 scale shape {_shape(scale.shape)} for tensor "{name}" '
            f"shape {_shape(source.shape)}; want {_shape(wanted)}"
        )
    return OutputTensor(name, source.shape, "BF16", lambda: _values(source, scale, size), from_fp8=True)


def _values(source: SafetensorsTensor, scale: SafetensorsTensor, size: BlockSize) -> NDArray[Any]:
    rows, columns = source.shape
    tall, wide = min(size[0], rows), min(size[1], columns)  # a block may be said to be larger than all
    scales = scale.float32().repeat(tall, axis=0)[:rows].repeat(wide, axis=1)[:, :columns]
    return as_stored(_E4M3[source.stored()] * scales, "BF16")


def _e4m3() -> NDArray[np.float32]:
    """The values of all bytes: a sign, 4 bits of exponent, 3 of mantissa; no infinities."""
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    values = np.where(
        exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent.astype(float) - 7)
    )
    values[codes & 0x7F == 0x7F] = np.nan
    return np.where(codes & 0x80, -values, values).astype(np.float32)


_E4M3 = _e4m3()


def _scale(name: str, sources: Mapping[str, SafetensorsTensor]) -> SafetensorsTensor:
    found = [name + ending for ending in _ENDINGS if name + ending in sources]
    if not found:
        raise ConversionFailed(f'missing fp8 scale companion for tensor "{name}"')
    if len(found) > 1:
        raise ConversionFailed(
            f'multiple fp8 scale companions for tensor "{name}": "{found[0]}" and "{found[1]}"'
        )
    scale = sources[found[0]]
    if scale.dtype not in _SCALE_TYPES:
        raise ConversionFailed(f'unsupported fp8 scale dtype "{scale.dtype}" for tensor "{scale.name}"')
    if len(scale.shape) != 2:
        raise ConversionFailed(
            f'expected 2D fp8 scale tensor "{scale.name}", got shape {_shape(scale.shape)}'
        )
    return scale


def _sizes(config: Config) -> Iterator[BlockSize]:
    for part in (config, config.section("text_config")):
        for key in _SECTIONS:
            yield from _sizes_in(part.section(key).values)


def _sizes_in(quantization: Mapping[str, Any]) -> Iterator[BlockSize]:
    method = str(quantization.get("quant_method", "")).lower()
    match quantization:
        case {"weight_block_size": [rows, columns]} if method == "fp8":
            yield _checked(rows, columns)
        case {"config_groups": dict(groups)} if method in _GROUPED or quantization.get("format") in _GROUPED:
            yield from _sizes_of_groups(groups.values())


def _sizes_of_groups(groups: Iterable[Any]) -> Iterator[BlockSize]:
    for group in groups:
        match group:
            case {"weights": {"num_bits": 8, "type": "float", "block_structure": [rows, columns]}}:
                yield _checked(rows, columns)


def _checked(rows: Any, columns: Any) -> BlockSize:
    if not (isinstance(rows, int) and isinstance(columns, int) and rows > 0 and columns > 0):
        raise ConversionFailed(f"invalid fp8 block size {rows}x{columns}")
    return rows, columns


def _product(size: BlockSize | None) -> str:
    return "x".join(map(str, size or ()))


def _shape(shape: Iterable[int]) -> str:
    return f"[{' '.join(map(str, shape))}]"
