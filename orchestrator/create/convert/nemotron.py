"""Nemotron H, whose layers are recurrent, attention, dense or experts, each alone: ``NemotronHForCausalLM``.

Source: ``gguf-convert`` §5.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.create.convert.base import Uints
from orchestrator.create.convert.decoder import Metadata, decoder_file, head_lengths, if_given
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import changed, computed, squeezed, stacked
from orchestrator.create.convert.scaling import rope_base
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        "lm_head": "output",
        "backbone.embeddings": "token_embd",
        "backbone.norm_f": "output_norm",
        "backbone.layers": "blk",
        "mixer.in_proj": "ssm_in",
        "mixer.out_proj": "ssm_out",
        "mixer.dt_bias": "ssm_dt.bias",
        "mixer.A_log": "ssm_a",
        "mixer.D": "ssm_d",
        "mixer.conv1d": "ssm_conv1d",
        "mixer.norm.weight": "ssm_norm.weight",
        "mixer.q_proj": "attn_q",
        "mixer.k_proj": "attn_k",
        "mixer.v_proj": "attn_v",
        "mixer.o_proj": "attn_output",
        "mixer.gate.e_score_correction_bias": "exp_probs_b.bias",
        "mixer.gate": "ffn_gate_inp",
        "mixer.fc1_latent_proj": "ffn_latent_in",
        "mixer.fc2_latent_proj": "ffn_latent_out",
        "mixer.shared_experts.up_proj": "ffn_up_shexp",
        "mixer.shared_experts.down_proj": "ffn_down_shexp",
        "mixer.up_proj": "ffn_up",
        "mixer.down_proj": "ffn_down",
        ".norm.weight": ".attn_norm.weight",
    }
)
_EXPERTS = re.compile(
    r"blk\.(?P<layer>\d+)\.mixer\.experts\.(?P<expert>\d+)\.(?P<part>\w+_proj)\.(?P<kind>weight|bias)"
)
_EXPERT_PARTS = {"up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps"}
_RECURRENT, _ATTENTION, _EXPERT, _DENSE = "M", "*A", "E", "-"
_EPSILON, _ROPE_BASE = 1e-5, 10_000.0
_NEEDED = (
    *("num_hidden_layers", "hidden_size", "num_attention_heads"),
    *("mamba_num_heads", "mamba_head_dim", "conv_kernel", "ssm_state_size"),
)


def convert_nemotron_h(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``nemotron_h`` file, or ``nemotron_h_moe`` for a model with layers of experts."""
    for key in _NEEDED:
        if not config.uint(key):
            raise _refused(f"{key} must be set")
    kinds = _layers(config)
    keys = _keys(config, kinds)
    has_experts = _EXPERT in kinds
    if has_experts:
        keys |= _expert_keys(config)
    tensors = stacked(renamed_tensors(folder, _NAMES, config=config), _EXPERTS, _EXPERT_PARTS)
    shaped = _shaped(tensors, config.uint("n_groups") or 1)
    return decoder_file(folder, config, "nemotron_h_moe" if has_experts else "nemotron_h", keys, shaped)


def _layers(config: Config) -> str:
    """The kind of each layer, a letter each."""
    key = "hybrid_override_pattern"
    match config.values.get(key):
        case str(pattern):
            pass
        case list(letters) if all(isinstance(letter, str) for letter in letters):
            pattern = "".join(letters)
        case None:
            pattern = ""
        case _:
            raise config.refused(f"{key} must be a string or string array")
    if not pattern:
        raise _refused(f"{key} must be set")
    layers = config.uint("num_hidden_layers")
    if len(pattern) != layers:
        raise _refused(f"{key} length ({len(pattern)}) must match num_hidden_layers ({layers})")
    for index, kind in enumerate(pattern):
        if kind not in (_RECURRENT, *_ATTENTION, _EXPERT, _DENSE):
            raise _refused(f"unsupported layer type '{kind}' in {key} at index {index}")
    return pattern


def _keys(config: Config, kinds: str) -> Metadata:
    heads = config.uint("num_attention_heads")
    key_heads = config.uint("num_key_value_heads") or heads
    head_dim = config.uint("head_dim") or config.uint("hidden_size") // heads
    epsilon = config.float("layer_norm_epsilon", "norm_eps", "rms_norm_eps") or _EPSILON
    return {
        "block_count": config.uint("num_hidden_layers"),
        "context_length": config.uint("max_position_embeddings"),
        "embedding_length": config.uint("hidden_size"),
        "attention.head_count": heads,
        "attention.head_count_kv": Uints(tuple(key_heads if kind in _ATTENTION else 0 for kind in kinds)),
        "feed_forward_length": Uints(
            tuple(_feed_forward(config, kind, index) for index, kind in enumerate(kinds))
        ),
        **head_lengths(head_dim),
        "attention.layer_norm_epsilon": epsilon,
        "attention.layer_norm_rms_epsilon": epsilon,
        "rope.freq_base": rope_base(config) or _ROPE_BASE,
        **if_given({"rope.dimension_count": int(head_dim * config.float("partial_rotary_factor"))}),
        "ssm.conv_kernel": config.uint("conv_kernel"),
        "ssm.inner_size": config.uint("mamba_head_dim") * config.uint("mamba_num_heads"),
        "ssm.state_size": config.uint("ssm_state_size"),
        "ssm.group_count": config.uint("n_groups"),
        "ssm.time_step_rank": config.uint("mamba_num_heads"),
    }


def _feed_forward(config: Config, kind: str, index: int) -> int:
    """The width of one layer; engines take a layer without one, and without attention, for recurrent."""
    if kind == _EXPERT:
        return config.uint("moe_intermediate_size", "intermediate_size")
    if kind != _DENSE:
        return 0
    width = config.uint("intermediate_size")
    if not width:
        raise _refused(f"dense FFN layer at index {index} but intermediate_size is zero")
    return width


def _expert_keys(config: Config) -> Metadata:
    return {
        "expert_count": config.uint("n_routed_experts"),
        "expert_used_count": config.uint("num_experts_per_tok"),
        "expert_feed_forward_length": config.uint("moe_intermediate_size", "intermediate_size"),
        "expert_weights_norm": config.flag("norm_topk_prob"),
        "expert_weights_scale": config.float("routed_scaling_factor") or 1.0,
        **if_given(
            {
                "expert_shared_count": config.uint("n_shared_experts"),
                "expert_shared_feed_forward_length": config.uint("moe_shared_expert_intermediate_size"),
                "expert_group_count": config.uint("n_group"),
                "expert_group_used_count": config.uint("topk_group"),
            }
        ),
    }


def _shaped(tensors: Iterable[OutputTensor], groups: int) -> Iterator[OutputTensor]:
    """Tensors of recurrent layers in the shapes of the engine, decays as such rather than as logarithms."""
    for tensor in tensors:
        _, _, part = tensor.name.rpartition(".ssm_")
        if part == "a":
            decays = computed(tensor, lambda values: -np.exp(values))
            yield changed(decays, lambda values: values, (*tensor.shape, 1))
        elif part == "d":
            yield changed(tensor, lambda values: values, (*tensor.shape, 1))
        elif part == "norm.weight":
            yield _by_groups(tensor, groups)
        elif part == "conv1d.weight" and len(tensor.shape) == 3:
            yield squeezed(tensor)
        else:
            yield tensor


def _by_groups(norm: OutputTensor, groups: int) -> OutputTensor:
    if norm.shape[0] % groups:
        raise _refused(f'tensor "{norm.name}" of {norm.shape[0]} does not divide into {groups} groups')
    return changed(norm, lambda values: values, (groups, norm.shape[0] // groups))


def _refused(reason: str) -> ConversionFailed:
    return ConversionFailed(f"nemotron_h: {reason}")
