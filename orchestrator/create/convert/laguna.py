"""Laguna: ``LagunaForCausalLM``. What its published models do not have is refused.

Source: ``gguf-convert`` §5.7.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.create.convert.base import Uints
from orchestrator.create.convert.decoder import (
    QK_NORM_NAMES,
    STANDARD_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    layers_of,
    standard_sizes,
)
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.qwen import EXPERT_PARTS, EXPERTS
from orchestrator.create.convert.reshaping import stacked
from orchestrator.create.convert.tensors import renamed_tensors
from orchestrator.create.convert.tokenizer import Tokenizer, read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        "self_attn.g_proj": "attn_gate",
        "mlp.gate.weight": "ffn_gate_inp.weight",
        "mlp.experts.e_score_correction_bias": "exp_probs_b.bias",
        "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
        "mlp.shared_expert.up_proj": "ffn_up_shexp",
        "mlp.shared_expert.down_proj": "ffn_down_shexp",
        **STANDARD_NAMES,
        **QK_NORM_NAMES,
    }
)
_FULL, _SLIDING = "full_attention", "sliding_attention"
_LAYER_TYPES = {_FULL: 0, _SLIDING: 1}
_NEEDED = ("num_hidden_layers", "num_experts", "shared_expert_intermediate_size")
_PER_HEAD_GATING, _SIGMOID = 1, 2
_GATING = "per-head"


def convert_laguna(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``laguna`` file."""
    _check(config)
    keys = _keys(config) | _global_positions(config) | _local_positions(config)
    tensors = stacked(renamed_tensors(folder, _NAMES, config=config), EXPERTS, EXPERT_PARTS)
    return decoder_file(folder, config, "laguna", keys, tensors, _tokenizer(folder))


def _check(config: Config) -> None:
    """Raises ``ConversionFailed`` for what no engine does."""
    for key in _NEEDED:
        if not config.uint(key):
            raise _refused(f"{key} must be set")
    gating = config.values.get("gating", _GATING)
    if not isinstance(gating, str | bool):
        raise config.refused(f"unsupported Laguna gating JSON value {gating}")
    if gating not in (True, _GATING):
        raise _refused(f'unsupported attention gating "{gating}": only gating="{_GATING}" is supported')
    if (norm := config.text("qk_norm_type") or "rmsnorm") != "rmsnorm":
        raise _refused(f'unsupported qk_norm_type "{norm}": only rmsnorm is supported')
    if not config.flag("moe_router_use_sigmoid", True):
        raise _refused("unsupported moe_router_use_sigmoid=false")
    for key in ("moe_apply_router_weight_on_input", "swa_attention_sink_enabled"):
        if config.flag(key):
            raise _refused(f"unsupported {key}=true")
    if (step := config.uint("decoder_sparse_step") or 1) != 1:
        raise _refused(f"unsupported decoder_sparse_step={step}: only 1 is supported")
    if (dense := _dense_layers(config)) != [0]:
        raise _refused(f"unsupported mlp_only_layers={dense}: only [0] is supported")


def _dense_layers(config: Config) -> list[Any]:
    """The layers without experts."""
    kinds = config.items("mlp_layer_types")
    for index, kind in enumerate(kinds):
        if kind not in ("dense", "sparse"):
            raise config.refused(f'laguna: unsupported mlp_layer_types[{index}]="{kind}"')
    return (
        [i for i, kind in enumerate(kinds) if kind == "dense"] if kinds else config.items("mlp_only_layers")
    )


def _keys(config: Config) -> Metadata:
    kinds = _layer_kinds(config)
    return standard_sizes(config) | {
        "vocab_size": config.uint("vocab_size"),
        **head_lengths(config.uint("head_dim")),
        "attention.head_count": Uints(_heads(config)),
        "attention.sliding_window": config.uint("sliding_window"),
        "attention.layer_types": Uints(tuple(_LAYER_TYPES[kind] for kind in kinds)),
        "attention.sliding_window_pattern": [kind == _SLIDING for kind in kinds],
        "attention.gating_type": _PER_HEAD_GATING,
        "attention.qk_norm": True,
        "attention.sink_enabled": False,
        "expert_count": config.uint("num_experts"),
        "expert_used_count": config.uint("num_experts_per_tok"),
        "expert_feed_forward_length": config.uint("moe_intermediate_size"),
        "expert_shared_feed_forward_length": config.uint("shared_expert_intermediate_size"),
        "expert_shared_count": 1,
        "expert_gating_func": _SIGMOID,
        "expert_weights_norm": config.flag("norm_topk_prob", True),
        "expert_weights_scale": config.float("moe_routed_scaling_factor") or 1.0,
        "decoder_sparse_step": 1,
        "leading_dense_block_count": 1,
        "dense_layers": Uints((0,)),
    }


def _layer_kinds(config: Config) -> list[str]:
    kinds = _per_layer(config, "layer_types") or [_FULL] * layers_of(config)
    for index, kind in enumerate(kinds):
        if kind not in _LAYER_TYPES:
            raise _refused(f'unsupported layer_types[{index}]="{kind}"')
    return kinds


def _heads(config: Config) -> tuple[int, ...]:
    key, layers = "num_attention_heads_per_layer", layers_of(config)
    heads = _per_layer(config, key) or [config.uint("num_attention_heads")] * layers
    for index, count in enumerate(heads):
        if not isinstance(count, int) or count <= 0:
            raise _refused(f"{key}[{index}] must be non-zero")
    return tuple(heads)


def _per_layer(config: Config, key: str) -> list[Any]:
    entries, layers = config.items(key), layers_of(config)
    if entries and len(entries) != layers:
        raise _refused(f"{key} has {len(entries)} entries, expected {layers}")
    return entries


def _global_positions(config: Config) -> Metadata:
    """Positions in layers that see everything."""
    positions = config.section("rope_parameters").section(_FULL)
    share = positions.float("partial_rotary_factor") or 1.0
    factor = positions.float("factor") or 1.0
    keys: Metadata = {
        "rope.freq_base": positions.float("rope_theta"),
        "rope.partial_rotary_factor": share,
        "rope.dimension_count": int(config.uint("head_dim") * share),
    }
    if positions.text("rope_type") != "yarn":
        return keys
    return keys | {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": factor,
        "rope.scaling.original_context_length": positions.uint("original_max_position_embeddings"),
        "rope.scaling.yarn_beta_fast": positions.float("beta_fast"),
        "rope.scaling.yarn_beta_slow": positions.float("beta_slow"),
        "rope.scaling.attn_factor": positions.float("attention_factor")
        or 0.1 * math.log(max(factor, 1.0)) + 1,
    }


def _local_positions(config: Config) -> Metadata:
    """Positions in layers that see what is near."""
    positions = config.section("rope_parameters").section(_SLIDING)
    share = positions.float("partial_rotary_factor") or 1.0
    return {
        "rope.freq_base_swa": positions.float("rope_theta"),
        "rope.dimension_count_swa": int(config.uint("head_dim") * share),
        "rope.swa.partial_rotary_factor": share,
        "rope.swa.scaling.type": positions.text("rope_type") or "default",
        "rope.swa.scaling.factor": positions.float("factor") or 1.0,
    }


def _tokenizer(folder: ModelFolder) -> Tokenizer:
    """The tokenizer; the template in the folder is not for engines, and begins a text by itself."""
    tokenizer = read_tokenizer(folder)
    special = dict(tokenizer.special)
    if "bos" in special:
        special["bos"] = replace(special["bos"], add=False)
    return replace(tokenizer, pre="laguna", chat_template="", special=special)


def _refused(reason: str) -> ConversionFailed:
    return ConversionFailed(f"laguna: {reason}")
