"""Tensors on their way from safetensors files into a GGUF file.

Source: ``gguf-convert`` §2 and §2.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.create.convert.base import OutputTensor, StoredType
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.fp8 import block_size, decoded, scales_of
from orchestrator.files.errors import MalformedSafetensors
from orchestrator.files.safetensors import SafetensorsTensor, read_safetensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

MAX_DIMENSIONS = 4

_FLOATS = frozenset({"F32", "F16", "BF16"})

_SINGLE_ENDINGS = (
    ".ffn_gate_inp.weight", ".bias", ".shortconv.conv.weight", ".ssm_conv1d.weight", "rel_pos_h", "rel_pos_w",
)  # fmt: skip
_SINGLE_STARTS = ("a.feature_extractor.", "a.conv1d.", "a.subsampling.")
_SINGLE_NAMES = frozenset(
    {
        "token_types.weight",
        "v.positional_embedding_vlm",
        "v.position_embd.weight",
        "v.tile_position_embd.weight",
        "v.pre_tile_position_embd.weight",
        "v.post_tile_position_embd.weight",
        "s.position_embd",
    }
)
_HALF_EVEN_FROM_BRAIN_STARTS = ("v.", "s.", "mm.")


def renamed_tensors(
    folder: ModelFolder,
    rename: Callable[[str], str],
    *,
    dropped: Iterable[str] = (),
    config: Config | None = None,
) -> list[OutputTensor]:
    """Every tensor of the folder under its new name, but those ``dropped`` (by their old names).

    ``config`` says how weights in FP8 are scaled; without it there must be none. Raises ``ConversionFailed``.
    """
    sources = sources_of(folder)
    scales = scales_of({source.name: source for source in sources}) if config else {}
    size = block_size(config) if config and scales else None
    left_out = {*dropped, *(scale.name for scale in scales.values())}
    tensors: dict[str, OutputTensor] = {}
    for source in sources:
        if source.name in left_out:
            continue
        name = rename(source.name)
        if name in tensors:
            raise ConversionFailed(f"duplicate tensor name '{name}' was found for this model")
        if scale := scales.get(source.name):
            tensors[name] = decoded(name, source, scale, size)
        else:
            tensors[name] = output_tensor(name, source)
    return list(tensors.values())


def output_tensor(name: str, source: SafetensorsTensor) -> OutputTensor:
    """``source`` unchanged but for its name and the type it is stored in."""
    if source.dtype not in _FLOATS:
        raise ConversionFailed(f'unknown data type: {source.dtype} (tensor "{source.name}")')
    if len(source.shape) > MAX_DIMENSIONS:
        raise ConversionFailed(f'tensor "{source.name}" has more than {MAX_DIMENSIONS} dimensions')
    stored = stored_type(name, source)
    shape = source.shape or (1,)
    return OutputTensor(name, shape, stored, lambda: _values(source, stored).reshape(shape))


def stored_type(name: str, source: SafetensorsTensor) -> StoredType:
    """The type a tensor called ``name`` in the GGUF file is stored in."""
    single = (
        len(source.shape) <= 1
        or name.endswith(_SINGLE_ENDINGS)
        or name.startswith(_SINGLE_STARTS)
        or name in _SINGLE_NAMES
        or ".conv_dw." in name
    )
    if single:
        return "F32"
    half = name.startswith(_HALF_EVEN_FROM_BRAIN_STARTS) or "ffn_gate_inp_shexp.weight" in name
    return "BF16" if source.dtype == "BF16" and not half else "F16"


def _values(source: SafetensorsTensor, stored: StoredType) -> NDArray[Any]:
    match stored:
        case "BF16":
            return source.stored()
        case "F32":
            return source.float32()
        case _:
            if source.dtype == "F16":
                return source.stored()
            with np.errstate(over="ignore"):  # too large for half precision is infinite
                return source.float32().astype(np.float16)


def tensors_of(folder: ModelFolder, name: str) -> list[SafetensorsTensor]:
    """The tensors of one file of the folder, in the order of their names. Raises ``ConversionFailed``."""
    path = folder.path(name)
    try:
        return [*read_safetensors(path).values()]
    except MalformedSafetensors as error:
        raise ConversionFailed(str(error).replace(path.name, name, 1)) from error


def sources_of(folder: ModelFolder) -> list[SafetensorsTensor]:
    """The tensors of all files at the top of the folder."""
    sources = [tensor for name in folder.weights() for tensor in tensors_of(folder, name)]
    if not sources:
        raise ConversionFailed(f"{', '.join(folder.weights())}: there is no tensor")
    return sources
