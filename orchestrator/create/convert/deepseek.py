"""DeepSeek V3, and GLM-4 MoE Lite, which is built like it.

Source: ``gguf-convert`` §5.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.create.convert.decoder import (
    STANDARD_NAMES,
    Metadata,
    decoder_file,
    heads_of,
    standard_sizes,
)
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.qwen import EXPERT_PARTS, EXPERTS
from orchestrator.create.convert.reshaping import changed, cut, stacked, transposed
from orchestrator.create.convert.scaling import rope_base, scaling_of
from orchestrator.create.convert.tensors import renamed_tensors
from orchestrator.create.convert.tokenizer import Tokenizer, read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        "language_model.": "",
        "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
        "self_attn.kv_a_layernorm": "attn_kv_a_norm",
        "self_attn.kv_b_proj": "attn_kv_b",
        "self_attn.q_a_proj": "attn_q_a",
        "self_attn.q_a_layernorm": "attn_q_a_norm",
        "self_attn.q_b_proj": "attn_q_b",
        "mlp.shared_experts.down_proj": "ffn_down_shexp",
        "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
        "mlp.shared_experts.up_proj": "ffn_up_shexp",
        "mlp.gate_proj": "ffn_gate",
        "mlp.gate.e_score_correction_bias": "exp_probs_b.bias",
        "mlp.gate": "ffn_gate_inp",
        **STANDARD_NAMES,
    }
)
_SOFTMAX, _SIGMOID = 1, 2
_BLOCK = re.compile(r"blk\.(\d+)\.")
_ROPE_BASE, _LITE_ROPE_BASE = 10_000.0, 1_000_000.0


def convert_deepseek_v3(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``deepseek2`` file."""
    keys = _keys(config) | {
        "attention.key_length": config.uint("qk_nope_head_dim") + config.uint("qk_rope_head_dim"),
        "attention.value_length": config.uint("v_head_dim"),
        "expert_gating_func": _SOFTMAX if config.text("scoring_func") == "softmax" else _SIGMOID,
        "rope.freq_base": rope_base(config) or _ROPE_BASE,
    }
    scaling, kind = scaling_of(config)
    if kind not in ("", "default"):
        keys |= {
            "rope.scaling.type": kind,
            "rope.scaling.factor": scaling.float("factor"),
            "rope.scaling.original_context_length": scaling.uint("original_max_position_embeddings"),
            "rope.scaling.yarn_log_multiplier": 0.1 * scaling.float("mscale_all_dim"),
        }
    tokenizer = replace(read_tokenizer(folder), pre="deepseek-v3")
    return decoder_file(folder, config, "deepseek2", keys, _tensors(folder, config), tokenizer)


def convert_glm4_moe_lite(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``deepseek2`` file whose attention works on compressed keys and values."""
    rank, rotated = config.uint("kv_lora_rank"), config.uint("qk_rope_head_dim")
    keys = _keys(config) | {
        "attention.head_count_kv": 1,
        "attention.key_length": rank + rotated,
        "attention.value_length": rank,
        "attention.key_length_mla": config.uint("qk_nope_head_dim") + rotated,
        "attention.value_length_mla": config.uint("v_head_dim"),
        "expert_gating_func": _SIGMOID,
        "expert_group_count": config.uint("n_group") or 1,
        "expert_group_used_count": config.uint("topk_group") or 1,
        "rope.freq_base": rope_base(config) or _LITE_ROPE_BASE,
    }
    tokenizer = replace(read_tokenizer(folder), pre="glm4")
    keys |= _further_ends(tokenizer)
    tensors = (part for tensor in _tensors(folder, config) for part in _absorbed(tensor, config))
    return decoder_file(folder, config, "deepseek2", keys, tensors, tokenizer)


def _keys(config: Config) -> Metadata:
    return standard_sizes(config) | {
        "general.type": "model",
        "attention.kv_lora_rank": config.uint("kv_lora_rank"),
        "attention.q_lora_rank": config.uint("q_lora_rank"),
        "expert_count": config.uint("n_routed_experts"),
        "expert_feed_forward_length": config.uint("moe_intermediate_size"),
        "expert_shared_count": config.uint("n_shared_experts"),
        "expert_used_count": config.uint("num_experts_per_tok"),
        "expert_weights_norm": config.flag("norm_topk_prob"),
        "expert_weights_scale": config.float("routed_scaling_factor"),
        "leading_dense_block_count": config.uint("first_k_dense_replace"),
        "rope.dimension_count": config.uint("qk_rope_head_dim"),
    }


def _tensors(folder: ModelFolder, config: Config) -> list[OutputTensor]:
    """The tensors without those of layers that guess ahead, which stand behind the last one."""
    layers = config.uint("num_hidden_layers")
    tensors = renamed_tensors(folder, _NAMES, config=config)
    return stacked((t for t in tensors if _layer(t) < layers), EXPERTS, EXPERT_PARTS)


def _layer(tensor: OutputTensor) -> int:
    match = _BLOCK.match(tensor.name)
    return int(match[1]) if match else -1


def _absorbed(tensor: OutputTensor, config: Config) -> Iterator[OutputTensor]:
    """``tensor``; the matrix that unfolds keys and values is taken apart, one piece per head."""
    if not tensor.name.endswith(".attn_kv_b.weight"):
        yield tensor
        return
    heads, rank = heads_of(config), config.uint("kv_lora_rank")
    keys, values = config.uint("qk_nope_head_dim"), config.uint("v_head_dim")
    if tensor.shape != (heads * (keys + values), rank):
        raise ConversionFailed(
            f'tensor "{tensor.name}" of shape {list(tensor.shape)} does not divide into {heads} heads '
            f"of {keys} and {values} rows"
        )
    by_head = changed(tensor, lambda matrix: matrix, (heads, keys + values, rank))
    yield transposed(cut(by_head, tensor.name.replace("_kv_b", "_k_b"), (slice(None), slice(keys))))
    yield cut(by_head, tensor.name.replace("_kv_b", "_v_b"), (slice(None), slice(keys, None)))


def _further_ends(tokenizer: Tokenizer) -> Metadata:
    """The second and third of the tokens that end an answer have names of their own."""
    ends: Iterable[int] = tokenizer.special["eos"].ids[1:3] if "eos" in tokenizer.special else ()
    names = ("tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id")
    return dict(zip(names, ends, strict=False))
