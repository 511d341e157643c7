"""What is done to tensors besides renaming them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from orchestrator.create.convert.base import OutputTensor
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.reshaping import (
    computed,
    constant,
    cut,
    permuted,
    plus_one,
    rotated,
    squeezed,
    stacked,
    transposed,
)

EXPERTS = re.compile(r"blk\.(?P<layer>\d+)\.(?P<expert>\d+)\.(?P<part>\w+)\.(?P<kind>weight)")


def tensor(*shape: int, name: str = "blk.0.x.weight") -> OutputTensor:
    values = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return constant(name, values)


def rows_of(result: OutputTensor) -> list[float]:
    assert result.read().shape == result.shape
    rows: list[float] = result.read().reshape(result.shape[0], -1)[:, 0].tolist()
    return rows


def test_halves_of_heads_become_neighbours() -> None:
    assert rows_of(permuted(tensor(8, 1), 2)) == [0, 2, 1, 3, 4, 6, 5, 7]
    assert rows_of(permuted(tensor(8, 1), 1)) == [0, 4, 1, 5, 2, 6, 3, 7]
    assert rows_of(permuted(tensor(8), 2)) == [0, 2, 1, 3, 4, 6, 5, 7]


@pytest.mark.parametrize("heads", [0, 3, 8])
def test_rows_that_do_not_divide_into_heads_are_refused(heads: int) -> None:
    with pytest.raises(ConversionFailed, match=f"does not divide into {heads} heads$"):
        permuted(tensor(8, 1), heads)


def test_queries_and_keys_are_turned_and_nothing_else() -> None:
    names = ["attn_q.weight", "attn_k.weight", "attn_k.bias", "attn_v.weight", "attn_q_norm.weight"]
    shapes = [(8, 1), (8, 1), (8,), (8, 1), (8, 1)]
    turned = rotated(
        [tensor(*shape, name=f"blk.3.{name}") for name, shape in zip(names, shapes, strict=True)], 2, 1
    )
    two, one, plain = [0, 2, 1, 3, 4, 6, 5, 7], [0, 4, 1, 5, 2, 6, 3, 7], list(range(8))
    assert [rows_of(result) for result in turned] == [two, one, one, plain, plain]


def test_keys_have_as_many_heads_as_queries_if_nothing_is_said() -> None:
    (turned,) = rotated([tensor(8, 1, name="blk.0.attn_k.weight")], 2, 0)
    assert rows_of(turned) == [0, 2, 1, 3, 4, 6, 5, 7]


def test_queries_that_are_no_matrix_are_refused() -> None:
    with pytest.raises(ConversionFailed, match="is no matrix"):
        list(rotated([tensor(8, name="blk.0.attn_q.weight")], 2, 2))


def test_parts_are_cut_by_any_dimension() -> None:
    left = cut(tensor(2, 3, 4), "left", (slice(None), slice(None), slice(2)))
    assert (left.name, left.shape) == ("left", (2, 3, 2))
    assert left.read()[1, 2].tolist() == [20, 21]
    assert cut(tensor(3, 2), "rows", (slice(1, None),)).read().tolist() == [[2, 3], [4, 5]]


def test_the_last_two_dimensions_are_exchanged() -> None:
    result = transposed(tensor(2, 3, 4))
    assert result.shape == (2, 4, 3)
    assert result.read()[1, 0].tolist() == [12, 16, 20]


def test_a_kernel_loses_its_middle_dimension() -> None:
    result = squeezed(tensor(4, 1, 3))
    assert result.shape == result.read().shape == (4, 3)


@pytest.mark.parametrize(("stored", "bits"), [("F32", None), ("F16", np.float16), ("BF16", np.uint16)])
def test_values_are_computed_in_single_precision(stored: str, bits: type | None) -> None:
    values = np.array([1.0, -0.5], np.float32)
    raw = (values.view(np.uint32) >> 16).astype(np.uint16) if stored == "BF16" else values
    given = OutputTensor("x", (2,), stored, lambda: raw.astype(bits or np.float32))  # type: ignore[arg-type]
    result = plus_one(given).read()
    back = (result.astype(np.uint32) << 16).view(np.float32) if stored == "BF16" else result
    assert result.dtype == (bits or np.float32)
    assert back.tolist() == [2.0, 0.5]


def test_a_computation_is_made_when_the_values_are_read() -> None:
    asked = []
    result = computed(tensor(2), lambda values: asked.append(1) or values)  # type: ignore[func-returns-value]
    assert not asked
    result.read()
    assert asked == [1]


def expert(number: int, part: str = "up", *, shape: tuple[int, ...] = (2, 1), layer: int = 0) -> OutputTensor:
    return tensor(*shape, name=f"blk.{layer}.{number}.{part}.weight")


def test_experts_are_put_together_in_the_order_of_their_numbers() -> None:
    numbers = [10, 2, 0, 1, *range(3, 10)]
    given = [constant(f"blk.0.{number}.up.weight", np.full((1, 1), number, np.float32)) for number in numbers]
    other = tensor(1, name="output.weight")
    results = stacked([other, *given], EXPERTS, {"up": "ffn_up_exps"})
    assert [result.name for result in results] == ["output.weight", "blk.0.ffn_up_exps.weight"]
    assert results[1].shape == (11, 1, 1)
    assert rows_of(results[1]) == list(range(11))


def test_parts_and_layers_are_kept_apart_and_unknown_parts_left_alone() -> None:
    given = [expert(0, "up"), expert(0, "down"), expert(0, "up", layer=1), expert(0, "odd")]
    results = stacked(given, EXPERTS, {"up": "u", "down": "d"})
    assert {result.name for result in results} == {
        "blk.0.u.weight", "blk.0.d.weight", "blk.1.u.weight", "blk.0.0.odd.weight",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("experts", "message"),
    [
        ([expert(0), expert(2)], "number 1 is missing"),
        ([expert(1)], "number 0 is missing"),
        ([expert(0), expert(1, shape=(3, 1))], "its parts differ in shape or type"),
    ],
)
def test_experts_that_do_not_go_together_are_refused(experts: list[OutputTensor], message: str) -> None:
    with pytest.raises(ConversionFailed, match=message):
        stacked(experts, EXPERTS, {"up": "u"})
