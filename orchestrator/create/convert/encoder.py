"""What the converters of encoders share: sizes, pooling, normalization, and the WordPiece vocabulary.

Source: ``gguf-convert`` §5.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.tokenizer import Tokenizer, read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.base import MetadataValue
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

POOLING_NONE, POOLING_MEAN, POOLING_CLS = range(3)

DROPPED_TENSORS = ("embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias")
"""The engine computes positions itself, and has no use for the head of the training task."""

EMBEDDING_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "embeddings.position_embeddings": "position_embd",
}
ATTENTION_OUTPUT_NAMES = {
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
}

_WORD_START = "\u2581"


def encoder_metadata(folder: ModelFolder, config: Config) -> dict[str, MetadataValue]:
    """The keys that every encoder has; those of sizes only if the configuration gives them."""
    sizes = {
        "block_count": config.uint("num_hidden_layers", "n_layers", "n_layer"),
        "context_length": config.uint("max_position_embeddings", "n_positions", "n_ctx"),
        "embedding_length": config.uint("hidden_size", "n_embd"),
        "feed_forward_length": config.uint("intermediate_size", "n_inner"),
        "attention.head_count": config.uint("num_attention_heads", "n_head"),
    }
    metadata: dict[str, MetadataValue] = {
        "general.file_type": 1,
        "general.quantization_version": 2,
        "attention.causal": False,
        "tokenizer.ggml.token_type_count": 2,
        **{key: value for key, value in sizes.items() if value},
        **_sentence_modules(folder),
        **_wordpiece(read_tokenizer(folder)).padded(config.uint("vocab_size")).metadata(),
    }
    if epsilon := config.float("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"):
        metadata["attention.layer_norm_epsilon"] = epsilon
    return metadata


def _sentence_modules(folder: ModelFolder) -> dict[str, MetadataValue]:
    """How token vectors become the vector of a text, from the list of modules."""
    modules = folder.json("modules.json")
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ConversionFailed("parse modules.json: not a list of modules")
    kinds = {_kind(module) for module in modules}
    return {"pooling_type": pooling_of(folder, modules), "normalize_embeddings": "Normalize" in kinds}


def pooling_of(folder: ModelFolder, modules: Sequence[dict[str, Any]]) -> int:
    """How the vectors of tokens become one, by the last module that does it."""
    pooling = POOLING_NONE
    for module in modules:
        if _kind(module) == "Pooling":
            pooling = _pooling(folder.object(f"{module.get('path', '')}/config.json".lstrip("/")))
    return pooling


def _kind(module: dict[str, Any]) -> str:
    return str(module.get("type")).rpartition(".")[2]


def _pooling(config: dict[str, Any]) -> int:
    if config.get("pooling_mode_mean_tokens"):
        return POOLING_MEAN
    return POOLING_CLS if config.get("pooling_mode_cls_token") else POOLING_NONE


_USUAL_CLS, _USUAL_SEP = 101, 102


def _wordpiece(tokenizer: Tokenizer) -> Tokenizer:
    """The vocabulary with word starts marked instead of continuations, as the engine wants it.

    The engine puts its begin and end tokens around a text, which are CLS and SEP here. It takes them for
    granted where they have their usual numbers.
    """
    special = dict(tokenizer.special)
    for role, stands_in, usual in (("bos", "cls", _USUAL_CLS), ("eos", "seperator", _USUAL_SEP)):
        token = special.get(stands_in)
        if role not in special and token is not None and token.id != usual:
            special[role] = token
    return replace(tokenizer, model="bert", tokens=[*map(_marked, tokenizer.tokens)], special=special)


def _marked(token: str) -> str:
    if token.startswith("[") and token.endswith("]") and len(token) > 1:
        return token
    return token[2:] if token.startswith("##") else _WORD_START + token
