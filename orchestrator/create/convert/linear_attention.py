"""The order of heads in linear attention, where each key head serves several value heads.

Source: ``gguf-convert`` §5.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.create.convert.base import OutputTensor
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.reshaping import changed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_PER_HEAD = (".ssm_alpha.weight", ".ssm_beta.weight", ".ssm_dt.bias", ".ssm_dt.weight", ".ssm_a")
"""Tensors with one row for each value head."""
_PER_VALUE = (".attn_gate.weight",)
_BEHIND_KEYS = (".attn_qkv.weight", ".ssm_conv1d.weight", ".ssm_conv1d.bias")
"""Tensors whose rows are those of queries, keys and values, in this order."""


@dataclass(frozen=True, slots=True)
class LinearHeads:
    """How many heads there are, and how wide they are."""

    keys: int
    values: int
    key_size: int
    value_size: int

    @property
    def shared(self) -> int:
        """Value heads for each key head."""
        return self.values // self.keys

    @property
    def key_rows(self) -> int:
        """Rows of queries, or of keys."""
        return self.keys * self.key_size

    @property
    def value_rows(self) -> int:
        return self.values * self.value_size


def without_fused_inputs(tensors: Iterable[OutputTensor], heads: LinearHeads) -> Iterator[OutputTensor]:
    """The tensors; the one that makes queries, keys, values and gates, head by head, in two parts."""
    for tensor in tensors:
        if not tensor.name.endswith(".ssm_in.weight"):
            yield tensor
            continue
        rows = 2 * (heads.key_rows + heads.value_rows)
        _check_rows(tensor, rows)
        columns = tensor.shape[1:]
        for name, parts in (("attn_qkv", slice(3)), ("attn_gate", slice(3, None))):
            size = 2 * heads.key_rows + heads.value_rows if name == "attn_qkv" else heads.value_rows
            part = changed(tensor, _Unfused(heads, parts), (size, *columns))
            yield replace(part, name=tensor.name.replace("ssm_in", name))


@dataclass(frozen=True, slots=True)
class _Unfused:
    """Takes some of queries, keys, values and gates of all heads out of rows that go head by head."""

    heads: LinearHeads
    parts: slice

    def __call__(self, values: Array) -> Array:
        heads = self.heads
        widths = (heads.key_size, heads.key_size, *[heads.shared * heads.value_size] * 2)
        by_head = values.reshape(heads.keys, sum(widths), *values.shape[1:])
        pieces = np.split(by_head, np.cumsum(widths)[:-1], axis=1)[self.parts]
        return np.concatenate([piece.reshape(-1, *values.shape[1:]) for piece in pieces])


def value_heads_tiled(tensors: Iterable[OutputTensor], heads: LinearHeads) -> Iterator[OutputTensor]:
    """The tensors with value heads in the order of the engine: one of every key head, then the next of each.

    Checkpoints have those of a key head side by side. Raises ``ConversionFailed``.
    """
    for tensor in tensors:
        if tensor.name.endswith(_PER_HEAD):
            _check_rows(tensor, heads.values)
            yield changed(tensor, _Tiled(heads, width=1))
        elif tensor.name.endswith(_PER_VALUE):
            _check_rows(tensor, heads.value_rows)
            yield changed(tensor, _Tiled(heads, width=heads.value_size))
        elif tensor.name.endswith(_BEHIND_KEYS):
            _check_rows(tensor, 2 * heads.key_rows + heads.value_rows)
            yield changed(tensor, _Tiled(heads, width=heads.value_size, start=2 * heads.key_rows))
        elif tensor.name.endswith(".ssm_out.weight"):
            _check_rows(tensor, heads.value_rows, dimension=1)
            yield changed(tensor, _Tiled(heads, width=heads.value_size, axis=1))
        else:
            yield tensor


@dataclass(frozen=True, slots=True)
class _Tiled:
    """Moves value heads, each ``width`` wide, from ``start`` on along ``axis``."""

    heads: LinearHeads
    width: int
    start: int = 0
    axis: int = 0

    def __call__(self, values: Array) -> Array:
        places = np.arange(self.heads.values * self.width)
        by_head = places.reshape(self.heads.keys, self.heads.shared, self.width)
        order = by_head.swapaxes(0, 1).ravel() + self.start
        return np.take(values, np.concatenate([np.arange(self.start), order]), self.axis)


def _check_rows(tensor: OutputTensor, rows: int, *, dimension: int = 0) -> None:
    if len(tensor.shape) <= dimension or tensor.shape[dimension] != rows:
        raise ConversionFailed(
            f'tensor "{tensor.name}" of shape {list(tensor.shape)} is not that of {rows} rows of heads'
        )
