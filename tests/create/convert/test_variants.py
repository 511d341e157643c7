"""Folders of families that no recorded case is about: what is written for each of their variants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.files.gguf import GgufHeader, read_header
from tests.create.convert.model_folders import convert, files_in, folder_program

MAKER: Any = folder_program()
HIDDEN, LAYERS = MAKER.HIDDEN, MAKER.LAYERS
FACTORS = {"long_factor": [1.5] * 8, "short_factor": [2.0] * 8}


def converted(folder: Any, directory: Path) -> tuple[GgufHeader, Path]:
    out = directory / "out.gguf"
    convert(files_in(folder.write(directory)), out)
    return read_header(out, keep_arrays=64), out


def phi(**config: Any) -> Any:
    folder = MAKER.Folder("phi", {})
    tokens = MAKER.use_bpe(folder, split=None)
    folder.config = MAKER.std_config(
        "Phi3ForCausalLM", tokens, original_max_position_embeddings=128, sliding_window=64, **config
    )
    folder.add("model.embed_tokens.weight", tokens, HIDDEN)
    for layer in range(LAYERS):
        block = f"model.layers.{layer}"
        folder.norm(f"{block}.input_layernorm")
        folder.norm(f"{block}.post_attention_layernorm")
        folder.linear(f"{block}.self_attn.qkv_proj", 128, HIDDEN)
        folder.linear(f"{block}.self_attn.o_proj", HIDDEN, HIDDEN)
        folder.linear(f"{block}.mlp.gate_up_proj", 192, HIDDEN)
        folder.linear(f"{block}.mlp.down_proj", HIDDEN, 96)
    folder.norm("model.norm")
    folder.add("lm_head.weight", tokens, HIDDEN)
    return folder


def test_phi_without_stretched_positions_has_no_factors(tmp_path: Path) -> None:
    header, _ = converted(phi(), tmp_path)
    names = {tensor.name for tensor in header.tensors}
    assert {"blk.0.attn_qkv.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight", "output.weight"} <= names
    assert not any("rope" in name for name in names)
    assert header.config.architecture == "phi3"
    assert header.config.uint("rope.dimension_count") == 16
    assert header.config.uint("attention.sliding_window") == 64
    assert not header.config.has("rope.scaling.attn_factor")


@pytest.mark.parametrize(
    ("scaling", "factor"),
    [
        ({"type": "longrope", **FACTORS}, 1.1338934),
        ({"rope_type": "su", **FACTORS}, 1.1338934),
        ({"type": "yarn"}, 1.1386294),
    ],
)
def test_phi_with_stretched_positions(tmp_path: Path, scaling: dict[str, Any], factor: float) -> None:
    header, out = converted(phi(rope_scaling=scaling), tmp_path)
    assert header.config.float("rope.scaling.attn_factor") == pytest.approx(factor)
    content = out.read_bytes()
    found = {
        tensor.name: np.frombuffer(content, "<f4", tensor.elements, tensor.offset).tolist()
        for tensor in header.tensors
        if "rope" in tensor.name
    }
    expected = {"rope_factors_long.weight": [1.5] * 8, "rope_factors_short.weight": [2.0] * 8}
    assert found == (expected if "long_factor" in scaling else {})


def test_phi_may_rotate_only_part_of_a_head(tmp_path: Path) -> None:
    header, _ = converted(phi(partial_rotary_factor=0.75), tmp_path)
    assert header.config.uint("rope.dimension_count") == 12


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        ({"type": "odd"}, "unknown rope scaling type 'odd'$"),
        ({"type": "longrope", "long_factor": ["a"]}, "long_factor must be a list of numbers$"),
        ({"type": "longrope", "long_factor": 2}, "long_factor must be a list, not 2$"),
        ({"type": 5}, "type must be a text, not 5$"),
        ("odd", "rope_scaling must be an object, not 'odd'$"),
    ],
)
def test_phi_with_positions_of_another_kind_is_refused(tmp_path: Path, scaling: Any, message: str) -> None:
    with pytest.raises(ConversionFailed, match=message):
        converted(phi(rope_scaling=scaling), tmp_path)


def test_nemotron_with_experts_says_how_wide_each_layer_is(tmp_path: Path) -> None:
    folder = MAKER.Folder("nemotron", {})
    tokens = MAKER.use_bpe(folder)
    folder.config = MAKER.nemotron_config(tokens, "ME*E", **MAKER.MOE_PARTS)
    MAKER.nemotron_text(folder, tokens, "ME*E")
    header, _ = converted(folder, tmp_path)
    assert header.config.architecture == "nemotron_h_moe"
    assert header.config.uints("feed_forward_length") == (0, 32, 0, 32)
    assert header.config.uints("attention.head_count_kv") == (0, 0, 2, 0)
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    assert shapes["blk.1.ffn_up_exps.weight"] == (64, 32, 4)
    assert shapes["blk.1.exp_probs_b.bias"] == (4,)


def test_experts_of_qwen_may_come_as_one_tensor(tmp_path: Path) -> None:
    folder = MAKER.Folder("qwen", {})
    tokens = MAKER.use_bpe(folder)
    folder.config = MAKER.std_config(
        "Qwen3MoeForCausalLM",
        tokens,
        head_dim=32,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=32,
    )
    MAKER.decoder(folder, tokens, dim=32, norms=MAKER.QK, mlp=False)
    for layer in range(LAYERS):
        experts = f"model.layers.{layer}.mlp.experts"
        folder.linear(f"model.layers.{layer}.mlp.gate", 4, HIDDEN)
        folder.add(f"{experts}.gate_up_proj", 4, HIDDEN, 96)
        folder.add(f"{experts}.down_proj", 4, 48, HIDDEN)
    header, _ = converted(folder, tmp_path)
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    assert shapes["blk.1.ffn_gate_exps.weight"] == shapes["blk.1.ffn_up_exps.weight"] == (HIDDEN, 48, 4)
    assert shapes["blk.1.ffn_down_exps.weight"] == (48, HIDDEN, 4)


IMPOSSIBLE: dict[str, tuple[str, dict[str, Any]]] = {
    "layers without end": ("gemma3-text", {"num_hidden_layers": 4_000_000_000, "layer_types": None}),
    "layers without end, one by one": ("lfm2", {"num_hidden_layers": 4_000_000_000, "layer_types": None}),
    "heads without end": (
        "llama-bpe",
        {"head_dim": 4_000_000_000, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
    ),
    "frequencies that divide by nothing": (
        "llama-bpe",
        {"rope_scaling": {"rope_type": "llama3", "low_freq_factor": 4.0, "high_freq_factor": 4.0}},
    ),
    "context beyond all numbers": (
        "gpt-oss-original",
        {"initial_context_length": 4_000_000_000, "rope_scaling_factor": 1e30},
    ),
    "sections that are no numbers": (
        "qwen2-mrope",
        {"rope_scaling": {"type": "mrope", "mrope_section": [None]}},
    ),
}


@pytest.mark.parametrize(("name", "config"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_an_impossible_configuration_is_refused_at_once(
    tmp_path: Path, name: str, config: dict[str, Any]
) -> None:
    folder = MAKER.FOLDERS[name]()
    folder.config |= config
    with pytest.raises(ConversionFailed):
        converted(folder, tmp_path)


def test_a_block_larger_than_its_weight_is_as_large_as_that(tmp_path: Path) -> None:
    folder = MAKER.FOLDERS["llama-fp8"]()
    folder.config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [1 << 60, 1 << 60]}
    folder.tensors = [
        (name, [1, 1] if name.endswith("_scale_inv") else shape, dtype)
        for name, shape, dtype in folder.tensors
    ]
    header, _ = converted(folder, tmp_path)
    assert header.config.string("source_quantization") == "hf_fp8"
