"""Which type tensors are stored in, and with which values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.create.convert.tensors import output_tensor, stored_type
from orchestrator.files.safetensors import SafetensorsTensor


def source(dtype: str, *shape: int) -> SafetensorsTensor:
    return SafetensorsTensor(Path("x"), "x", dtype, shape, 0, 0)


@pytest.mark.parametrize(
    ("name", "tensor", "stored"),
    [
        ("blk.0.attn_q.weight", source("F32", 2, 2), "F16"),
        ("blk.0.attn_q.weight", source("BF16", 2, 2), "BF16"),
        ("blk.0.attn_norm.weight", source("BF16", 2), "F32"),
        ("scale", source("F16"), "F32"),
        ("blk.0.ffn_gate_inp.weight", source("BF16", 2, 2), "F32"),
        ("blk.0.x.bias", source("F16", 2, 2), "F32"),
        ("blk.0.conv_dw.weight", source("F16", 2, 2), "F32"),
        ("token_types.weight", source("F16", 2, 2), "F32"),
        ("v.position_embd.weight", source("F16", 2, 2), "F32"),
        ("a.conv1d.0.weight", source("F16", 2, 2), "F32"),
        ("v.blk.0.attn_q.weight", source("BF16", 2, 2), "F16"),
        ("mm.0.weight", source("BF16", 2, 2), "F16"),
        ("blk.0.ffn_gate_inp_shexp.weight", source("BF16", 1, 2), "F16"),
    ],
)
def test_the_stored_type_follows_from_name_shape_and_source(
    name: str, tensor: SafetensorsTensor, stored: str
) -> None:
    assert stored_type(name, tensor) == stored


def test_values_are_rounded_to_the_stored_type(tmp_path: Path) -> None:
    values = np.array([[1.0, 1e-3], [65504.0, 1e6]], np.float32)
    path = tmp_path / "x"
    path.write_bytes(values.tobytes())
    tensor = output_tensor("a.weight", SafetensorsTensor(path, "a", "F32", (2, 2), 0, 16))
    written = tensor.read()
    assert written.dtype == np.float16
    assert written.tolist() == [[1.0, float(np.float16(1e-3))], [65504.0, float("inf")]]


def test_a_scalar_becomes_a_vector_of_one(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(np.float32(2.5).tobytes())
    tensor = output_tensor("scale", SafetensorsTensor(path, "scale", "F32", (), 0, 4))
    assert tensor.shape == (1,)
    assert tensor.read().tolist() == [2.5]
