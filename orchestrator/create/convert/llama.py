"""Llama and what is built like it: Mistral, and Mixtral with experts.

Source: ``gguf-convert`` §5.1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.create.convert.decoder import (
    MAX_HEAD_SIZE,
    STANDARD_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    heads_of,
    if_given,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import constant, rotated, stacked
from orchestrator.create.convert.scaling import rope_base, scaling_of
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(STANDARD_NAMES)
_EXPERT_NAMES = Renaming(
    {"block_sparse_moe.gate": "ffn_gate_inp", "block_sparse_moe.experts": "experts", **STANDARD_NAMES}
)
_EXPERTS = re.compile(r"blk\.(?P<layer>\d+)\.experts\.(?P<expert>\d+)\.(?P<part>w\d)\.(?P<kind>weight|bias)")
_EXPERT_PARTS = {"w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}
_INVERSE_FREQUENCIES = "rotary_emb.inv_freq"
"""Engines compute them; older checkpoints have them as a tensor."""


def convert_llama(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``llama`` file."""
    return _content(folder, config, {}, renamed_tensors(folder, _NAMES, config=config))


def convert_mixtral(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``llama`` file with experts."""
    keys: Metadata = {
        "expert_count": config.uint("num_local_experts"),
        "expert_used_count": config.uint("num_experts_per_tok"),
    }
    tensors = stacked(renamed_tensors(folder, _EXPERT_NAMES, config=config), _EXPERTS, _EXPERT_PARTS)
    return _content(folder, config, keys, tensors)


def _content(
    folder: ModelFolder, config: Config, keys: Metadata, tensors: Iterable[OutputTensor]
) -> GgufContent:
    heads = heads_of(config)
    head_dim = config.uint("head_dim")
    dimensions = head_dim or config.uint("hidden_size", "n_embd") // heads
    rotation = rope_base(config)
    keys = keys | {
        "vocab_size": config.uint("vocab_size"),
        "block_count": config.uint("n_layers", "num_hidden_layers", "n_layer"),
        "context_length": config.uint("max_position_embeddings", "n_ctx"),
        "embedding_length": config.uint("hidden_size", "n_embd"),
        "feed_forward_length": config.uint("intermediate_size", "n_inner"),
        "attention.head_count": heads,
        "attention.head_count_kv": config.uint("num_key_value_heads"),
        "attention.head_dim": head_dim,
        **head_lengths(head_dim),
        "attention.layer_norm_rms_epsilon": config.float("rms_norm_eps"),
        "attention.layer_norm_epsilon": config.float("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"),
        "rope.dimension_count": dimensions,
        "rope.freq_base": rotation,
        **_linear_scaling(config),
    }
    turned = rotated(_without_frequencies(tensors), heads, config.uint("num_key_value_heads"))
    written = [*turned, *_frequencies(config, dimensions, rotation)]
    return decoder_file(folder, config, "llama", if_given(keys), written)


def _without_frequencies(tensors: Iterable[OutputTensor]) -> Iterator[OutputTensor]:
    return (tensor for tensor in tensors if not tensor.name.endswith(_INVERSE_FREQUENCIES))


def _linear_scaling(config: Config) -> Metadata:
    scaling, kind = scaling_of(config)
    return (
        {"rope.scaling.type": kind, "rope.scaling.factor": scaling.float("factor")}
        if kind == "linear"
        else {}
    )


def _frequencies(config: Config, dimensions: int, base: float) -> Iterator[OutputTensor]:
    """By what Llama 3 divides the frequencies of rotation: low ones by the factor, high ones not at all."""
    scaling, kind = scaling_of(config)
    if kind != "llama3":
        return
    factor = scaling.float("factor") or 8.0
    low = scaling.float("low_freq_factor") or 1.0
    high = scaling.float("high_freq_factor") or 4.0
    context = scaling.float("original_max_position_embeddings") or 8192.0
    base = base or 10000.0
    if high <= low or dimensions > MAX_HEAD_SIZE:
        raise config.refused("impossible rope_scaling")
    values = []
    for dimension in range(0, dimensions, 2):
        wave_length = 2 * math.pi * base ** (dimension / dimensions)
        smooth = (context / wave_length - low) / (high - low)
        if wave_length < context / high:
            values.append(1.0)
        elif wave_length > context / low:
            values.append(factor)
        else:
            values.append(1 / ((1 - smooth) / factor + smooth))
    yield constant("rope_freqs.weight", np.array(values, np.float32))
