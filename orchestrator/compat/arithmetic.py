"""Work on the numbers of tensors. numpy and the formats take a while to load: imported where it is used.

Shapes are numpy's here, outermost dimension first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize
from numpy.typing import NDArray

from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.plan import Operation
from orchestrator.files.gguf import TensorInfo

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of the source with its data."""

    info: TensorInfo
    raw: bytes

    def floats(self) -> Floats:
        """Its numbers. Raises ``CannotTranslate`` for a type that cannot be read."""
        kind = GGMLQuantizationType[self.info.type]
        shape = self.info.shape[::-1] or (1,)
        if kind is GGMLQuantizationType.F32:
            return np.frombuffer(self.raw, np.float32).reshape(shape)
        if kind is GGMLQuantizationType.F16:
            return np.frombuffer(self.raw, np.float16).astype(np.float32).reshape(shape)
        rows = np.frombuffer(self.raw, np.uint8).reshape(-1, len(self.raw) // self._rows)
        try:
            numbers: Floats = dequantize(rows, kind)
        except NotImplementedError as error:
            raise CannotTranslate(f'tensor "{self.info.name}": {self.info.type} cannot be read') from error
        return numbers.reshape(shape)

    def rows(self) -> NDArray[np.uint8]:
        """The bytes of each row."""
        return np.frombuffer(self.raw, np.uint8).reshape(self._rows, -1)

    @property
    def _rows(self) -> int:
        return self.info.elements // (self.info.shape[0] if self.info.shape else 1)


def computed(operation: Operation, tensors: Sequence[StoredTensor], arguments: Mapping[str, int]) -> bytes:
    """The data that ``operation`` makes of ``tensors``. Raises ``CannotTranslate``."""
    for tensor in tensors:
        if not tensor.info.elements:
            raise CannotTranslate(f'tensor "{tensor.info.name}" is empty')
    try:
        return _OPERATIONS[operation](tensors, **arguments)
    except ValueError as error:  # numpy's word for shapes that do not fit
        names = ", ".join(tensor.info.name for tensor in tensors)
        raise CannotTranslate(f"{operation.value} of {names}: {error}") from error


def promote(tensors: Sequence[StoredTensor]) -> bytes:
    """The numbers as F32, one tensor after the other (T1 for parts of several types)."""
    return b"".join(_bytes(tensor.floats()) for tensor in tensors)


def plus_one(tensors: Sequence[StoredTensor]) -> bytes:
    """The numbers as F32, each one larger (T6)."""
    return _bytes(tensors[0].floats() + np.float32(1))


def frame(tensors: Sequence[StoredTensor], *, number: int, channels: int) -> bytes:
    """The convolution of one frame out of that of two (T2).

    [C_out x C_in, 2, H, W] → [C_out, C_in, H, W], the first axis being c_out x C_in + c_in.
    """
    kernels = tensors[0].floats()
    both = kernels.reshape(-1, 2, *kernels.shape[-2:])
    return _bytes(both[:, number].reshape(-1, channels, *both.shape[-2:]))


def interleaved_rows(tensors: Sequence[StoredTensor], *, heads: int) -> bytes:
    """Rows of each head in another order: those of its two halves in turn (T3). Any type."""
    rows = tensors[0].rows()
    halves = rows.reshape(heads, 2, -1, rows.shape[-1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).tobytes()


def zeros(_: Sequence[StoredTensor], *, count: int) -> bytes:
    """So many F32 zeros."""
    return bytes(4 * count)


def identity(_: Sequence[StoredTensor], *, side: int) -> bytes:
    """A square matrix that changes nothing, as F32."""
    return _bytes(np.eye(side, dtype=np.float32))


def resampled(tensors: Sequence[StoredTensor], *, embedding: int, side: int) -> bytes:
    """A square of position embeddings stretched to ``side`` x ``side``, bilinear, corners aligned (T7)."""
    numbers = tensors[0].floats().squeeze()
    if numbers.ndim != 2 or embedding not in numbers.shape:
        raise CannotTranslate(f"position embeddings of shape {numbers.shape}, not of {embedding} channels")
    if numbers.shape[-1] != embedding:
        numbers = numbers.T
    old = int(np.sqrt(len(numbers)))
    if old * old != len(numbers):
        raise CannotTranslate(f"{len(numbers)} position embeddings are no square")
    grid = numbers.reshape(old, old, embedding)
    return _bytes(_stretched(_stretched(grid, side, axis=0), side, axis=1))


def _stretched(grid: Floats, length: int, *, axis: int) -> Floats:
    """Linear interpolation along one axis; the ends stay where they are."""
    old = grid.shape[axis]
    if old == length:
        return grid
    places = np.linspace(0, old - 1, length, dtype=np.float64)
    low = np.minimum(places.astype(int), max(old - 2, 0))
    high = np.minimum(low + 1, old - 1)
    share = (places - low).astype(np.float32).reshape([-1 if i == axis else 1 for i in range(grid.ndim)])
    between: Floats = grid.take(low, axis) * (1 - share) + grid.take(high, axis) * share
    return between


def _bytes(numbers: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(numbers, np.float32).tobytes()


_OPERATIONS: Mapping[Operation, Callable[..., bytes]] = {
    Operation.PROMOTE: promote,
    Operation.PLUS_ONE: plus_one,
    Operation.FRAME: frame,
    Operation.INTERLEAVE: interleaved_rows,
    Operation.RESAMPLE: resampled,
    Operation.ZEROS: zeros,
    Operation.IDENTITY: identity,
}
