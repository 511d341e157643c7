"""What converters do to tensors besides renaming them: lazily, each when its turn to be written comes.

Shapes count from the outermost dimension, as numpy does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.create.convert.base import OutputTensor, StoredType
from orchestrator.create.convert.errors import ConversionFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_ROTATED = re.compile(r"blk\.\d+\.attn_([qk])\.(weight|bias|weight\.lora_b)")


def permuted(tensor: OutputTensor, heads: int) -> OutputTensor:
    """Rows of queries or keys in the order of llama.cpp, which rotates neighbours instead of halves.

    ``gguf-convert`` §2.5. Raises ``ConversionFailed`` if the rows are not those of so many heads.
    """
    rows = tensor.shape[0]
    if not heads or rows % (2 * heads):
        raise ConversionFailed(
            f'tensor "{tensor.name}" of shape {list(tensor.shape)} does not divide into {heads} heads'
        )
    halves = (heads, 2, rows // heads // 2, *tensor.shape[1:])
    return changed(tensor, lambda values: values.reshape(halves).swapaxes(1, 2))


def rotated(tensors: Iterable[OutputTensor], heads: int, key_heads: int) -> Iterator[OutputTensor]:
    """``tensors``, queries and keys among them permuted; without ``key_heads`` there are as many as queries.

    Raises ``ConversionFailed``.
    """
    for tensor in tensors:
        match = _ROTATED.fullmatch(tensor.name)
        if match is None:
            yield tensor
        elif match[2] == "weight" and len(tensor.shape) != 2:
            raise ConversionFailed(f'tensor "{tensor.name}" of shape {list(tensor.shape)} is no matrix')
        else:
            yield permuted(tensor, heads if match[1] == "q" else key_heads or heads)


def changed(
    tensor: OutputTensor, change: Callable[[Array], Array], shape: Sequence[int] | None = None
) -> OutputTensor:
    """``tensor`` with its stored values moved by ``change``, which must not look at what they mean."""
    new_shape = tensor.shape if shape is None else tuple(shape)
    stored_shape = (*new_shape[:-1], -1) if tensor.stored == "MXFP4" else new_shape
    read = tensor.read
    return replace(tensor, shape=new_shape, read=lambda: change(read()).reshape(stored_shape))


def computed(tensor: OutputTensor, change: Callable[[Array], Array]) -> OutputTensor:
    """``tensor`` with ``change`` made to its values in single precision; only for what is stored so."""
    read, stored = tensor.read, tensor.stored

    def compute() -> Array:
        return as_stored(change(as_float32(read(), stored)).astype(np.float32), stored)

    return replace(tensor, read=compute)


def plus_one(tensor: OutputTensor) -> OutputTensor:
    """A norm whose checkpoint holds the distance from 1."""
    return computed(tensor, lambda values: values + np.float32(1))


def clamped(tensor: OutputTensor, limit: float) -> OutputTensor:
    """``tensor`` with no value further from zero than ``limit``."""
    return computed(tensor, lambda values: values.clip(-limit, limit))


def cut(tensor: OutputTensor, name: str, part: tuple[slice, ...]) -> OutputTensor:
    """The part of a tensor that ``part`` selects, as a tensor of its own."""
    shape = tuple(len(range(*s.indices(size))) for s, size in zip(part, tensor.shape, strict=False))
    shape += tensor.shape[len(part) :]
    return replace(changed(tensor, lambda values: values[part], shape), name=name)


def transposed(tensor: OutputTensor) -> OutputTensor:
    """``tensor`` with its last two dimensions exchanged."""
    *outer, rows, columns = tensor.shape
    return changed(tensor, lambda values: values.swapaxes(-1, -2), (*outer, columns, rows))


def squeezed(tensor: OutputTensor) -> OutputTensor:
    """The kernel of a convolution per channel, without the dimension of one in its middle."""
    shape = (tensor.shape[0], math.prod(tensor.shape[1:]))
    return changed(tensor, lambda values: values, shape)


def stacked(
    tensors: Iterable[OutputTensor], pattern: re.Pattern[str], names: Mapping[str, str]
) -> list[OutputTensor]:
    """``tensors`` with those of single experts put together, one tensor for all experts of a layer.

    ``pattern`` matches the names of experts' tensors and has the groups ``layer``, ``expert``, ``part`` and
    ``kind`` (``weight`` or ``bias``); ``names`` gives the name for each part. ``gguf-convert`` §2.4. Raises
    ``ConversionFailed`` if one is missing or of another shape.
    """
    others: list[OutputTensor] = []
    experts: dict[str, dict[int, OutputTensor]] = {}
    for tensor in tensors:
        match = pattern.fullmatch(tensor.name)
        if match is None or match["part"] not in names:
            others.append(tensor)
            continue
        name = f"blk.{match['layer']}.{names[match['part']]}.{match['kind']}"
        experts.setdefault(name, {})[int(match["expert"])] = tensor
    return others + [_stack(name, members) for name, members in experts.items()]


def series(tensors: Iterable[OutputTensor], pattern: re.Pattern[str]) -> list[OutputTensor]:
    """``tensors`` with those of numbered series put together, one tensor for each series.

    ``pattern`` matches their names and has the groups ``name`` and ``number``. Raises ``ConversionFailed``.
    """
    others: list[OutputTensor] = []
    members: dict[str, dict[int, OutputTensor]] = {}
    for tensor in tensors:
        if match := pattern.fullmatch(tensor.name):
            members.setdefault(f"{match['name']}.weight", {})[int(match["number"])] = tensor
        else:
            others.append(tensor)
    return others + [_stack(name, of_series) for name, of_series in members.items()]


def _stack(name: str, members: Mapping[int, OutputTensor]) -> OutputTensor:
    ordered = [members[number] for number in sorted(members)]
    first = ordered[0]
    if sorted(members) != list(range(len(members))):
        missing = next(number for number in range(len(members) + 1) if number not in members)
        raise ConversionFailed(f'tensor "{name}": number {missing} is missing')
    if any((member.shape, member.stored) != (first.shape, first.stored) for member in ordered):
        raise ConversionFailed(f'tensor "{name}": its parts differ in shape or type')
    return OutputTensor(
        name,
        (len(ordered), *first.shape),
        first.stored,
        lambda: np.stack([member.read() for member in ordered]),
        from_fp8=first.from_fp8,
        stacked=True,
    )


def constant(name: str, values: Array) -> OutputTensor:
    """A tensor that is computed rather than read, in single precision."""
    return OutputTensor(name, values.shape, "F32", lambda: values.astype(np.float32))


def as_float32(values: Array, stored: StoredType) -> Array:
    """Stored values in single precision."""
    if stored == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32)


def as_stored(values: Array, stored: StoredType) -> Array:
    """Values of single precision as they are stored; BF16 by leaving out the lower half of the bits."""
    match stored:
        case "F32":
            return values
        case "BF16":
            return (values.view(np.uint32) >> 16).astype(np.uint16)
        case "F16":
            with np.errstate(over="ignore"):
                return values.astype(np.float16)
        case "MXFP4":
            raise ValueError("nothing is computed in MXFP4")
