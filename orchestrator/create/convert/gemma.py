"""Gemma 1 to 3 for text.

Source: ``gguf-convert`` §5.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from orchestrator.create.convert.decoder import (
    BODY_NAMES,
    HEAD_NAMES,
    LAYER_NAMES,
    QK_NORM_NAMES,
    SANDWICH_NORM_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    if_given,
    layers_of,
    standard_sizes,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import cut, plus_one
from orchestrator.create.convert.scaling import scaling_of, yarn_keys
from orchestrator.create.convert.tensors import renamed_tensors
from orchestrator.create.convert.tokenizer import read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_GEMMA_NAMES = Renaming({**BODY_NAMES, **LAYER_NAMES, "post_attention_layernorm": "ffn_norm"})
_GEMMA2_NAMES = Renaming({**BODY_NAMES, **LAYER_NAMES, **SANDWICH_NORM_NAMES})
_GEMMA3_NAMES = Renaming({**HEAD_NAMES, **BODY_NAMES, **LAYER_NAMES, **QK_NORM_NAMES, **SANDWICH_NORM_NAMES})
_INFILL_TOKENS: Metadata = {
    "tokenizer.ggml.eot_token_id": 107,
    "tokenizer.ggml.middle_token_id": 68,
    "tokenizer.ggml.prefix_token_id": 67,
    "tokenizer.ggml.suffix_token_id": 69,
}
_HEADS_BY_DEPTH = {34: (8, 4), 48: (16, 8), 62: (32, 16)}
"""Heads, and those of keys and values, of the published models of so many layers."""
_LOCAL_BASE, _GLOBAL_BASE = 10_000.0, 1_000_000.0
_YARN_EXTRAPOLATION, _YARN_FAST, _YARN_SLOW = 1.0, 64.0, 1.0


def convert_gemma(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``gemma`` file."""
    keys = standard_sizes(config) | head_lengths(config.uint("head_dim")) | _INFILL_TOKENS
    tensors = norms_from_zero(renamed_tensors(folder, _GEMMA_NAMES, config=config))
    return decoder_file(folder, config, "gemma", keys, tensors)


def convert_gemma2(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``gemma2`` file."""
    keys = standard_sizes(config) | head_lengths(config.uint("head_dim")) | _INFILL_TOKENS
    keys |= {
        "attention.sliding_window": config.uint("sliding_window"),
        "attn_logit_softcapping": config.float("attn_logit_softcapping"),
        "final_logit_softcapping": config.float("final_logit_softcapping"),
    }
    tensors = norms_from_zero(renamed_tensors(folder, _GEMMA2_NAMES, config=config))
    return decoder_file(folder, config, "gemma2", keys, tensors)


def convert_gemma3(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``gemma3`` file for text alone."""
    tokens = len(read_tokenizer(folder).tokens)
    tensors = norms_from_zero(renamed_tensors(folder, _GEMMA3_NAMES, config=config))
    return decoder_file(
        folder, config, "gemma3", _gemma3_keys(config), vocabulary_rows(tensors, tokens, config)
    )


def norms_from_zero(tensors: Iterable[OutputTensor]) -> Iterator[OutputTensor]:
    """The tensors, with norms as factors; checkpoints hold their distance from 1."""
    return (plus_one(tensor) if tensor.name.endswith("_norm.weight") else tensor for tensor in tensors)


def vocabulary_rows(tensors: Iterable[OutputTensor], tokens: int, config: Config) -> Iterator[OutputTensor]:
    """The tensors, with no more rows of embeddings than there are tokens."""
    rows = max(tokens, config.uint("vocab_size"))
    for tensor in tensors:
        too_many = tensor.name == "token_embd.weight" and tensor.shape[0] > rows
        yield cut(tensor, tensor.name, (slice(rows),)) if too_many else tensor


def local_layers(config: Config, layers: int, every: int = 6) -> list[bool]:
    """Which layers see only what is near."""
    kinds = config.items("layer_types")
    if kinds:
        return [kind == "sliding_attention" for kind in kinds]
    every = config.uint("sliding_window_pattern") or every
    return [(number + 1) % every != 0 for number in range(layers)]


def rope_bases(config: Config) -> Metadata:
    """The bases of rotation of layers that see everything, and of those that see what is near."""
    return {
        "rope.freq_base": config.float("rope_theta") or _GLOBAL_BASE,
        "rope.freq_base_swa": config.float("rope_local_base_freq") or _LOCAL_BASE,
    }


def _gemma3_keys(config: Config) -> Metadata:
    layers = layers_of(config)
    keys = standard_sizes(config) | head_lengths(config.uint("head_dim") or 256)
    if layers in _HEADS_BY_DEPTH:
        keys["attention.head_count"], keys["attention.head_count_kv"] = _HEADS_BY_DEPTH[layers]
    keys |= {
        "attention.sliding_window": config.uint("sliding_window"),
        "attention.sliding_window_pattern": local_layers(config, layers),
        **rope_bases(config),
        **if_given({"final_logit_softcapping": config.float("final_logit_softcapping")}),
    }
    scaling, kind = scaling_of(config)
    if kind == "yarn":
        keys |= yarn_keys(scaling) | {
            "rope.scaling.yarn_ext_factor": scaling.float("extrapolation_factor") or _YARN_EXTRAPOLATION,
            "rope.scaling.yarn_beta_fast": scaling.float("beta_fast") or _YARN_FAST,
            "rope.scaling.yarn_beta_slow": scaling.float("beta_slow") or _YARN_SLOW,
        }
    elif kind == "linear":
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": scaling.float("factor")}
    return keys
