"""LFM 2, whose layers are convolutions or attention: dense and with experts.

Source: ``gguf-convert`` §5.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.create.convert.base import Uints
from orchestrator.create.convert.decoder import (
    Metadata,
    decoder_file,
    head_lengths,
    heads_of,
    if_given,
    layers_of,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import squeezed, stacked
from orchestrator.create.convert.scaling import rope_base
from orchestrator.create.convert.tensors import renamed_tensors
from orchestrator.create.convert.tokenizer import read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        "model.embed_tokens": "token_embd",
        "model.embedding_norm": "token_embd_norm",
        "model.layers": "blk",
        "operator_norm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.out_proj": "attn_output",
        "self_attn.q_layernorm": "attn_q_norm",
        "self_attn.k_layernorm": "attn_k_norm",
        "conv.conv": "shortconv.conv",
        "conv.in_proj": "shortconv.in_proj",
        "conv.out_proj": "shortconv.out_proj",
        "feed_forward.gate": "ffn_gate_inp",
        "feed_forward.expert_bias": "exp_probs_b.bias",
        "feed_forward.w1": "ffn_gate",
        "feed_forward.w2": "ffn_down",
        "feed_forward.w3": "ffn_up",
    }
)
_EXPERTS = re.compile(
    r"blk\.(?P<layer>\d+)\.feed_forward\.experts\.(?P<expert>\d+)\.(?P<part>w\d)\.(?P<kind>weight|bias)"
)
_EXPERT_PARTS = {"w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}
_SIGMOID = 2
_OVERSTATED_CONTEXT, _REAL_CONTEXT, _ITS_LAYERS = 128_000, 32_768, 40
"""One published model with experts claims more than it was trained on."""


def convert_lfm2(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of an ``lfm2`` file, or ``lfm2moe`` for a model with experts."""
    experts = config.uint("num_experts")
    keys = _keys(config) | (_expert_keys(config, experts) if experts else {})
    tensors = stacked(renamed_tensors(folder, _NAMES, config=config), _EXPERTS, _EXPERT_PARTS)
    tokenizer = replace(read_tokenizer(folder), pre="lfm2")
    architecture = "lfm2moe" if experts else "lfm2"
    return decoder_file(folder, config, architecture, keys, _kernels(tensors), tokenizer)


def _keys(config: Config) -> Metadata:
    layers, heads = layers_of(config), heads_of(config)
    context = config.uint("max_position_embeddings")
    if context == _OVERSTATED_CONTEXT and layers == _ITS_LAYERS and config.uint("num_experts"):
        context = _REAL_CONTEXT
    key_heads = config.uint("num_key_value_heads") or heads
    kinds = config.items("layer_types") or ["full_attention"] * layers
    return {
        "vocab_size": config.uint("vocab_size"),
        "block_count": layers,
        "embedding_length": config.uint("hidden_size"),
        "context_length": context,
        "feed_forward_length": _feed_forward(config),
        "attention.head_count": heads,
        "attention.head_count_kv": Uints(
            tuple(key_heads if kind == "full_attention" else 0 for kind in kinds)
        ),
        **head_lengths(config.uint("hidden_size") // heads),
        "attention.layer_norm_rms_epsilon": config.float("norm_eps"),
        "shortconv.l_cache": config.uint("conv_L_cache"),
        **if_given({"rope.freq_base": rope_base(config)}),
    }


def _feed_forward(config: Config) -> int:
    """The width of the feed-forward part, which some configurations want to be worked out."""
    width = config.uint("block_ff_dim", "intermediate_size")
    if not config.flag("block_auto_adjust_ff_dim"):
        return width
    width = int(2 * width / 3)
    if multiplier := config.float("block_ffn_dim_multiplier"):
        width = int(multiplier * width)
    multiple = config.uint("block_multiple_of") or 1
    return -(-width // multiple) * multiple


def _expert_keys(config: Config, experts: int) -> Metadata:
    return {
        "expert_count": experts,
        "expert_used_count": config.uint("num_experts_per_tok"),
        "expert_feed_forward_length": config.uint("moe_intermediate_size"),
        "leading_dense_block_count": config.uint("num_dense_layers"),
        "expert_gating_func": _SIGMOID,
        "expert_weights_scale": config.float("routed_scaling_factor") or 1.0,
    }


def _kernels(tensors: Iterable[OutputTensor]) -> Iterator[OutputTensor]:
    for tensor in tensors:
        is_kernel = tensor.name.endswith(".shortconv.conv.weight") and len(tensor.shape) == 3
        yield squeezed(tensor) if is_kernel else tensor
