"""Weights in FP8 with scales for blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.create.convert.config import Config
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.fp8 import block_size, decoded
from orchestrator.files.safetensors import SafetensorsTensor


def stored(directory: Path, name: str, dtype: str, values: np.ndarray[Any, Any]) -> SafetensorsTensor:
    path = directory / name
    path.write_bytes(values.tobytes())
    return SafetensorsTensor(path, name, dtype, values.shape, 0, values.nbytes)


def test_all_codes_have_the_values_of_the_format(tmp_path: Path) -> None:
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
    weight = stored(tmp_path, "w", "F8_E4M3", codes)
    scale = stored(tmp_path, "s", "F32", np.ones((1, 1), np.float32))
    bits = decoded("w", weight, scale, (16, 16)).read().ravel()
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    assert values[[0x00, 0x01, 0x08, 0x38, 0x39, 0x7E]].tolist() == [0, 2**-9, 2**-6, 1, 1.125, 448]
    assert values[[0x81, 0xB8, 0xFE]].tolist() == [-(2**-9), -1, -448]
    assert np.isnan(values[[0x7F, 0xFF]]).all()
    assert np.isfinite(values).sum() == 254


def test_each_block_has_its_scale_and_the_last_may_be_smaller(tmp_path: Path) -> None:
    weight = stored(tmp_path, "w", "F8_E4M3", np.full((3, 5), 0x38, np.uint8))
    scale = stored(tmp_path, "s", "F32", np.array([[1, 2, 4], [8, 16, 32]], np.float32))
    tensor = decoded("w", weight, scale, (2, 2))
    values = (tensor.read().astype(np.uint32) << 16).view(np.float32)
    assert (tensor.stored, tensor.from_fp8) == ("BF16", True)
    assert values.tolist() == [[1, 1, 2, 2, 4], [1, 1, 2, 2, 4], [8, 8, 16, 16, 32]]


GROUPS = {"a": {"weights": {"num_bits": 8, "type": "float", "block_structure": [128, 64]}}}


@pytest.mark.parametrize(
    "config",
    [
        {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 64]}},
        {"quantization": {"quant_method": "FP8", "weight_block_size": [128, 64]}},
        {"text_config": {"compression_config": {"quant_method": "fp8", "weight_block_size": [128, 64]}}},
        {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": GROUPS}},
        {"quantization_config": {"quant_method": "x", "format": "float-quantized", "config_groups": GROUPS}},
    ],
)
def test_the_size_of_blocks_stands_in_several_places(config: dict[str, Any]) -> None:
    assert block_size(Config(config, "X")) == (128, 64)


@pytest.mark.parametrize(
    "quantization",
    [
        {},
        {"quant_method": "gptq", "weight_block_size": [128, 64]},
        {"quant_method": "fp8"},
        {"quant_method": "fp8", "weight_block_size": [128]},
        {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 4}}}},
    ],
)
def test_without_a_size_there_is_none(quantization: dict[str, Any]) -> None:
    assert block_size(Config({"quantization_config": quantization}, "X")) is None


@pytest.mark.parametrize("size", [[0, 48], [-1, 48], ["128", 48], [1.5, 48]])
def test_an_odd_size_is_refused(size: list[Any]) -> None:
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": size}}
    with pytest.raises(ConversionFailed, match="^invalid fp8 block size "):
        block_size(Config(config, "X"))
