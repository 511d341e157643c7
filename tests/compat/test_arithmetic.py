"""Work on the numbers of tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize

from orchestrator.compat.arithmetic import StoredTensor, computed
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.plan import Operation
from orchestrator.files.gguf import TensorInfo
from tests.compat.tiny import Floats


def stored(values: Floats, kind: str = "F32") -> StoredTensor:
    raw = quantize(values, GGMLQuantizationType[kind]).tobytes()
    return StoredTensor(TensorInfo("t", values.shape[::-1], kind, 0, len(raw)), raw)


def floats(content: bytes) -> Floats:
    return np.frombuffer(content, np.float32)


def counted(*shape: int) -> Floats:
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0"])
def test_parts_of_any_type_are_stacked_in_full_precision(kind: str) -> None:
    values = counted(2, 32) / np.float32(7)
    content = computed(Operation.PROMOTE, [stored(values, kind), stored(values)], {})
    rows = quantize(values, GGMLQuantizationType[kind])
    expected = dequantize(rows, GGMLQuantizationType[kind]).reshape(2, 32)
    assert np.array_equal(floats(content).reshape(2, 2, 32), np.stack([expected, values]))


def test_norms_are_stored_one_too_small() -> None:
    content = computed(Operation.PLUS_ONE, [stored(counted(4))], {})
    assert floats(content).tolist() == [1, 2, 3, 4]


def test_frames_are_taken_apart() -> None:
    both = counted(2 * 3, 2, 4, 4)  # two channels out, three in
    for number in (0, 1):
        arguments = {"number": number, "channels": 3}
        content = computed(Operation.FRAME, [stored(both, "F16")], arguments)
        assert np.array_equal(floats(content).reshape(2, 3, 4, 4), both[:, number].reshape(2, 3, 4, 4))


def test_rows_of_two_halves_take_turns() -> None:
    rows = counted(8, 32)
    content = computed(Operation.INTERLEAVE, [stored(rows)], {"heads": 2})
    order = [0, 2, 1, 3, 4, 6, 5, 7]
    assert np.array_equal(floats(content).reshape(8, 32), rows[order])


@pytest.mark.parametrize("shape", [(9, 8), (8, 9), (9, 8, 1), (1, 9, 8)])
def test_positions_are_stretched_whatever_their_layout(shape: tuple[int, ...]) -> None:
    grid = counted(9, 8)
    values = grid.T.copy() if shape[0] == 8 else grid
    arguments = {"embedding": 8, "side": 5}
    content = computed(Operation.RESAMPLE, [stored(values.reshape(shape))], arguments)
    stretched = floats(content).reshape(5, 5, 8)
    corners = stretched[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert np.allclose(corners, grid[[0, 2, 6, 8]])
    assert np.allclose(stretched[2, 2], grid[4])
    assert np.allclose(stretched[0, 1], (grid[0] + grid[1]) / 2)


@pytest.mark.parametrize(("shape", "reason"), [((10, 8), "no square"), ((9, 7), "not of 8 channels")])
def test_positions_of_an_impossible_shape_are_refused(shape: tuple[int, ...], reason: str) -> None:
    with pytest.raises(CannotTranslate, match=reason):
        computed(Operation.RESAMPLE, [stored(counted(*shape))], {"embedding": 8, "side": 5})


def test_zeros_are_zeros() -> None:
    assert computed(Operation.ZEROS, [], {"count": 3}) == bytes(12)


def test_a_square_that_changes_nothing() -> None:
    content = computed(Operation.IDENTITY, [], {"side": 3})
    assert np.array_equal(floats(content).reshape(3, 3), np.eye(3))


def test_numbers_of_a_type_without_a_reader_are_refused() -> None:
    tensor = StoredTensor(TensorInfo("t", (256,), "Q8_K", 0, 292), bytes(292))
    with pytest.raises(CannotTranslate, match="Q8_K cannot be read"):
        computed(Operation.PROMOTE, [tensor], {})


@pytest.mark.parametrize("shape", [(0,), (0, 0), (4, 0)])
@pytest.mark.parametrize("operation", [Operation.PROMOTE, Operation.INTERLEAVE])
def test_empty_tensors_are_refused(operation: Operation, shape: tuple[int, ...]) -> None:
    with pytest.raises(CannotTranslate, match='tensor "t" is empty'):
        computed(operation, [StoredTensor(TensorInfo("t", shape, "F16", 0, 0), b"")], {})
