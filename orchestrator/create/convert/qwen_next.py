"""Qwen 3 Next and Qwen 3.5, whose layers are linear or full attention, for text.

Layers that guess ahead (``mtp.``) stand behind the others, as layers of their own.

Source: ``gguf-convert`` §5.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.create.convert.config import Config
from orchestrator.create.convert.decoder import (
    QK_NORM_NAMES,
    STANDARD_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    if_given,
    standard_sizes,
)
from orchestrator.create.convert.errors import ConversionFailed, TowersUnsupported
from orchestrator.create.convert.linear_attention import LinearHeads, value_heads_tiled, without_fused_inputs
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.qwen import EXPERT_PARTS, EXPERTS
from orchestrator.create.convert.reshaping import computed, cut, plus_one, squeezed, stacked
from orchestrator.create.convert.tensors import renamed_tensors, sources_of
from orchestrator.create.convert.tokenizer import read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        "model.language_model.embed_tokens": "token_embd",
        "model.language_model.norm": "output_norm",
        "model.language_model.layers": "blk",
        "post_attention_layernorm": "post_attention_norm",
        "linear_attn.in_proj_qkvz": "ssm_in",
        "linear_attn.in_proj_ba": "ssm_ba",
        "linear_attn.in_proj_qkv": "attn_qkv",
        "linear_attn.in_proj_z": "attn_gate",
        "linear_attn.in_proj_a": "ssm_alpha",
        "linear_attn.in_proj_b": "ssm_beta",
        "linear_attn.conv1d": "ssm_conv1d",
        "linear_attn.dt_bias": "ssm_dt.bias",
        "linear_attn.dt_proj": "ssm_dt",
        "linear_attn.A_log": "ssm_a",
        "linear_attn.norm": "ssm_norm",
        "linear_attn.out_proj": "ssm_out",
        "mlp.gate.weight": "ffn_gate_inp.weight",
        "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
        "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
        "mlp.shared_expert.up_proj": "ffn_up_shexp",
        "mlp.shared_expert.down_proj": "ffn_down_shexp",
        "mlp.experts.gate_up_proj": "ffn_gate_up_exps.weight",
        "mlp.experts.down_proj": "ffn_down_exps.weight",
        **{name: new for name, new in STANDARD_NAMES.items() if name != "post_attention_layernorm"},
        **QK_NORM_NAMES,
    }
)
_GUESSING_NAMES = {
    "fc": "eh_proj",
    "pre_fc_norm_embedding": "enorm",
    "pre_fc_norm_hidden": "hnorm",
    "norm": "shared_head_norm",
    "shared_head.norm": "shared_head_norm",
    "embed_tokens": "embed_tokens",
    "shared_head.head": "shared_head_head",
}
_GUESSING_LAYER = re.compile(r"mtp\.layers\.(\d+)\.")
_GUESSING = re.compile(rf"mtp\.({'|'.join(map(re.escape, _GUESSING_NAMES))})\.(weight|bias)")
_TOWER = "model.visual"
_NORM_ENDINGS = ("_norm.weight", ".nextn.enorm.weight", ".nextn.hnorm.weight")
_FULL, _LINEAR = "full_attention", "linear_attention"
_NEEDED = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")


def convert_qwen3_next(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``qwen3next`` file."""
    text = _text(config)
    heads = _checked(text)
    tensors = without_fused_inputs(_tensors(folder, text, layers=text.uint("num_hidden_layers")), heads)
    return _file(folder, config, "qwen3next", _keys(text, heads, guessing=0), tensors)


def convert_qwen35(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``qwen35`` file, or ``qwen35moe`` for a model with experts."""
    names = [source.name for source in sources_of(folder)]
    if any(name.startswith(_TOWER) for name in names):
        raise TowersUnsupported(config.architecture)
    text = _text(config)
    heads = _checked(text)
    layers = text.uint("num_hidden_layers")
    guessing = text.uint("mtp_num_hidden_layers", "num_nextn_predict_layers") or _guessing_layers(names)
    keys = _keys(text, heads, guessing) | _multimodal_keys(config, text)
    tensors = value_heads_tiled(_tensors(folder, text, layers), heads)
    return _file(folder, config, "qwen35moe" if text.uint("num_experts") else "qwen35", keys, tensors)


def _file(
    folder: ModelFolder, config: Config, architecture: str, keys: Metadata, tensors: Iterable[OutputTensor]
) -> GgufContent:
    tokenizer = replace(read_tokenizer(folder), pre="qwen35")
    return decoder_file(folder, config, architecture, keys, tensors, tokenizer)


def _text(config: Config) -> Config:
    """The configuration of the text part, in front of that of the whole, with what is said of positions."""
    text = config.section("text_config").values
    merged = {**config.values, **text}
    positions = Config(merged, config.architecture).section("rope_parameters").values
    return Config({**positions, **merged}, config.architecture)


def _checked(text: Config) -> LinearHeads:
    """The heads of linear attention. Raises ``ConversionFailed`` where something needed is missing."""
    for key in _NEEDED:
        if not text.uint(key):
            raise _refused(f"{key} must be set")
    if not text.float("rope_theta"):
        raise _refused("rope_theta must be set")
    rotated = text.float("partial_rotary_factor")
    if not 0 < rotated <= 1:
        raise _refused(f"partial_rotary_factor must be in (0,1], got {rotated:g}")
    heads = LinearHeads(
        keys=text.uint("linear_num_key_heads"),
        values=text.uint("linear_num_value_heads"),
        key_size=text.uint("linear_key_head_dim"),
        value_size=text.uint("linear_value_head_dim"),
    )
    if not all((heads.keys, heads.values, heads.key_size, heads.value_size)):
        raise _refused(
            "linear attention config must be set (linear_num_key_heads, linear_num_value_heads, "
            "linear_key_head_dim, linear_value_head_dim)"
        )
    if heads.values % heads.keys:
        raise _refused(f"{heads.values} value heads do not divide among {heads.keys} key heads")
    return heads


def _keys(text: Config, heads: LinearHeads, guessing: int) -> Metadata:
    layers, head_dim = text.uint("num_hidden_layers"), text.uint("head_dim")
    keys = standard_sizes(text) | head_lengths(head_dim)
    return keys | {
        "block_count": layers + guessing,
        "rope.freq_base": text.float("rope_theta"),
        "rope.dimension_count": int(head_dim * text.float("partial_rotary_factor")),
        "ssm.inner_size": heads.values * heads.value_size,
        "ssm.state_size": heads.key_size,
        "ssm.group_count": heads.keys,
        "ssm.time_step_rank": heads.values,
        "ssm.conv_kernel": text.uint("linear_conv_kernel_dim"),
        "full_attention_interval": _interval(text, layers),
        **if_given(
            {
                "nextn_predict_layers": guessing,
                "expert_count": text.uint("num_experts"),
                "expert_used_count": text.uint("num_experts_per_tok"),
                "norm_top_k_prob": text.flag("norm_topk_prob"),
                "expert_feed_forward_length": text.uint("moe_intermediate_size"),
                "expert_shared_feed_forward_length": text.uint("shared_expert_intermediate_size"),
            }
        ),
    }


def _interval(text: Config, layers: int) -> int:
    """Every which layer sees everything."""
    kinds = text.items("layer_types")
    if kinds and not {_FULL, _LINEAR} <= set(map(str, kinds)):
        raise _refused(f"layer_types must include both {_FULL} and {_LINEAR}")
    interval = text.uint("full_attention_interval") or (kinds.index(_FULL) + 1 if kinds else 0)
    if not interval:
        raise _refused("full_attention_interval must be set")
    if interval > layers:
        raise _refused(f"full_attention_interval ({interval}) exceeds num_hidden_layers ({layers})")
    return interval


def _multimodal_keys(config: Config, text: Config) -> Metadata:
    """Positions in pictures, and the tokens around these, which the text part knows of, too."""
    keys: Metadata = {"ssm.v_head_reordered": True}
    if sections := text.uints("mrope_section"):
        keys |= {
            "rope.dimension_sections": [*sections, *[0] * (4 - len(sections))],
            "rope.mrope_section": sections,
            "mrope_sections": sections,
        }
    if text.flag("mrope_interleaved"):
        keys["rope.mrope_interleaved"] = True
    tokens = ("image_token_id", "vision_start_token_id", "vision_end_token_id")
    return keys | if_given({token: config.uint(token) for token in tokens})


def _guessing_layers(names: Iterable[str]) -> int:
    numbers = [int(match[1]) for name in names if (match := _GUESSING_LAYER.match(name))]
    return max(numbers, default=-1) + 1


def _renaming(layers: int) -> Callable[[str], str]:
    """New names for the tensors of a model with so many ordinary layers."""

    def rename(name: str) -> str:
        if match := _GUESSING.fullmatch(name):
            return f"blk.{layers}.nextn.{_GUESSING_NAMES[match[1]]}.{match[2]}"
        name = _GUESSING_LAYER.sub(lambda match: f"model.layers.{layers + int(match[1])}.", name)
        return _NAMES(name)

    return rename


def _tensors(folder: ModelFolder, text: Config, layers: int) -> Iterator[OutputTensor]:
    renamed = renamed_tensors(folder, _renaming(layers), config=text)
    for tensor in stacked(renamed, EXPERTS, EXPERT_PARTS):
        if tensor.name.endswith(".ffn_gate_up_exps.weight"):
            half = tensor.shape[1] // 2
            for part, rows in (("gate", slice(half)), ("up", slice(half, None))):
                yield cut(tensor, tensor.name.replace("gate_up", part), (slice(None), rows))
        elif tensor.name.endswith(".ssm_a"):
            yield computed(tensor, lambda values: -np.exp(values))
        elif tensor.name.endswith(".ssm_conv1d.weight"):
            yield squeezed(tensor)
        elif tensor.name.endswith(_NORM_ENDINGS) and not tensor.name.endswith(".ssm_norm.weight"):
            yield plus_one(tensor)
        else:
            yield tensor


def _refused(reason: str) -> ConversionFailed:
    return ConversionFailed(f"qwen3next: {reason}")
