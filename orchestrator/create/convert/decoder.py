"""What the converters of text models share: sizes, usual names, and putting a file together.

Source: ``gguf-convert`` §4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from orchestrator.create.convert.base import GgufContent, MetadataValue, OutputTensor
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.tokenizer import Tokenizer, read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

HEAD_NAMES = {"lm_head": "output"}
BODY_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "model.layers": "blk",
}
LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.down_proj": "ffn_down",
    "mlp.up_proj": "ffn_up",
}
STANDARD_NAMES = {**HEAD_NAMES, **BODY_NAMES, **LAYER_NAMES, "post_attention_layernorm": "ffn_norm"}
QK_NORM_NAMES = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
SANDWICH_NORM_NAMES = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
"""Norms on both sides of attention and of the feed-forward part."""

Metadata = dict[str, MetadataValue]

MAX_LAYERS = 1 << 12
MAX_HEAD_SIZE = 1 << 16
"""Far beyond any model, and what is worked out for each layer or number of a head still fits into memory."""


def standard_sizes(config: Config) -> Metadata:
    """The keys of sizes that every decoder has."""
    return {
        "block_count": layers_of(config),
        "context_length": config.uint("max_position_embeddings"),
        "embedding_length": config.uint("hidden_size"),
        "feed_forward_length": config.uint("intermediate_size"),
        "attention.head_count": config.uint("num_attention_heads"),
        "attention.head_count_kv": config.uint("num_key_value_heads"),
        "attention.layer_norm_rms_epsilon": config.float("rms_norm_eps"),
    }


def layers_of(config: Config, *keys: str) -> int:
    """The number of layers. Raises ``ConversionFailed`` if it is absurd."""
    layers = config.uint(*(keys or ("num_hidden_layers",)))
    if layers > MAX_LAYERS:
        raise ConversionFailed(f"{layers} layers exceed maximum {MAX_LAYERS}")
    return layers


def heads_of(config: Config) -> int:
    """The number of heads. Raises ``ConversionFailed`` if there are none, for much is divided by it."""
    heads = config.uint("num_attention_heads", "n_head")
    if not heads:
        raise config.refused("num_attention_heads is needed")
    return heads


def head_lengths(length: int) -> Metadata:
    """The width of a head, for keys and values alike."""
    return {"attention.key_length": length, "attention.value_length": length}


def if_given(values: Mapping[str, MetadataValue]) -> Metadata:
    """``values`` without those that are zero or empty."""
    return {key: value for key, value in values.items() if value}


def decoder_file(
    folder: ModelFolder,
    config: Config,
    architecture: str,
    keys: Mapping[str, MetadataValue],
    tensors: Iterable[OutputTensor],
    tokenizer: Tokenizer | None = None,
) -> GgufContent:
    """The file of a text model. ``tokenizer`` is for one that is not simply that of the folder."""
    tokenizer = tokenizer or read_tokenizer(folder)
    written = list(tensors)
    vocabulary = config.uint("vocab_size") or config.section("text_config").uint("vocab_size")
    metadata: Metadata = {
        "general.file_type": 1,
        "general.quantization_version": 2,
        **tokenizer.padded(vocabulary).metadata(),
        **keys,
    }
    if from_fp8 := sorted(tensor.name for tensor in written if tensor.from_fp8):
        metadata |= {"source_quantization": "hf_fp8", "source_fp8_tensors": from_fp8}
    return GgufContent(architecture, metadata, written)
