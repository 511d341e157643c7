"""Phi 3: ``Phi3ForCausalLM``.

Source: ``gguf-convert`` §5.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.create.convert.decoder import STANDARD_NAMES, Metadata, decoder_file, heads_of
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import constant
from orchestrator.create.convert.scaling import rope_base, scaling_of, unknown_scaling
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming({"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up", **STANDARD_NAMES})


def convert_phi3(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``phi3`` file."""
    heads = heads_of(config)
    hidden = config.uint("hidden_size", "n_embd")
    keys: Metadata = {
        "block_count": config.uint("num_hidden_layers", "n_layers"),
        "context_length": config.uint("max_position_embeddings"),
        "embedding_length": hidden,
        "feed_forward_length": config.uint("intermediate_size"),
        "attention.head_count": heads,
        "attention.head_count_kv": config.uint("num_key_value_heads", "n_head_kv"),
        "attention.layer_norm_rms_epsilon": config.float("rms_norm_eps"),
        "rope.dimension_count": int(hidden // heads * (config.float("partial_rotary_factor") or 1.0)),
        "rope.freq_base": rope_base(config),
        "rope.scaling.original_context_length": config.uint("original_max_position_embeddings"),
        "attention.sliding_window": config.uint("sliding_window"),
        **_attention_factor(config),
    }
    tensors = [*renamed_tensors(folder, _NAMES, config=config), *_factors(config)]
    return decoder_file(folder, config, "phi3", keys, tensors)


def _attention_factor(config: Config) -> Metadata:
    """What attention is multiplied by in a context longer than the model was first trained on."""
    _, kind = scaling_of(config)
    if kind in ("", "default"):
        return {}
    if kind not in ("su", "longrope", "yarn"):
        raise unknown_scaling(config, kind)
    original = config.uint("original_max_position_embeddings")
    longest = config.uint("max_position_embeddings")
    if original < 2 or not longest:
        raise config.refused("original_max_position_embeddings is needed")
    growth = math.log(longest / original)
    factor = 0.1 * growth + 1 if kind == "yarn" else math.sqrt(max(1 + growth / math.log(original), 1))
    return {"rope.scaling.attn_factor": max(factor, 1.0)}


def _factors(config: Config) -> Iterator[OutputTensor]:
    """By what frequencies are divided in long and short contexts, where the configuration says it."""
    scaling, _ = scaling_of(config)
    for length in ("long", "short"):
        factors = scaling.items(f"{length}_factor")
        if not all(isinstance(factor, int | float) for factor in factors):
            raise config.refused(f"{length}_factor must be a list of numbers")
        if factors:
            yield constant(f"rope_factors_{length}.weight", np.array(factors, np.float32))
