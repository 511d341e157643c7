"""The facts of a model's files that loading depends on."""

from __future__ import annotations

from pathlib import Path

from orchestrator.domain.loads import ModelFacts
from orchestrator.files.gguf import GgufConfig, read_config, read_header

LONGEST_LAYER_ARRAY = 4096
"""Arrays with one element per layer are kept; token lists are not."""

EMBEDDED_PROJECTOR_PREFIXES = ("v.", "mm.", "a.")


def model_facts(path: Path, *, projector: Path | None = None, draft: Path | None = None) -> ModelFacts:
    """What the headers of weights, first projector and draft say. Raises ``MalformedGguf``, ``OSError``."""
    header = read_header(path, keep_arrays=LONGEST_LAYER_ARRAY)
    config = header.config
    return ModelFacts(
        architecture=config.string("general.architecture"),
        block_count=config.uint("block_count"),
        trained_context=config.uint("context_length"),
        embedding_length=config.uint("embedding_length"),
        head_count_max=max(config.uints("attention.head_count"), default=0),
        head_count_kv_min=min(config.uints("attention.head_count_kv"), default=0),
        size_bytes=header.size_bytes,
        pooling_type=_uint_if_given(config, "pooling_type"),
        normalize_embeddings=_bool_if_given(config, "normalize_embeddings"),
        nextn_predict_layers=config.uint("nextn_predict_layers"),
        has_mtp_tensors=any(tensor.name.startswith("mtp.") for tensor in header.tensors),
        embedded_projector_bytes=header.bytes_of(EMBEDDED_PROJECTOR_PREFIXES),
        projector_bytes=0 if projector is None else read_header(projector).bytes_of(""),
        draft_architecture="" if draft is None else read_config(draft).string("general.architecture"),
        tokenizer_model=config.string("tokenizer.ggml.model"),
        tokenizer_pre=config.string("tokenizer.ggml.pre"),
        add_bos=config.bool("tokenizer.ggml.add_bos_token"),
        add_bos_given=_bool_if_given(config, "tokenizer.ggml.add_bos_token"),
        add_eos_given=_bool_if_given(config, "tokenizer.ggml.add_eos_token"),
        bos_id=_uint_if_given(config, "tokenizer.ggml.bos_token_id"),
        eos_id=_uint_if_given(config, "tokenizer.ggml.eos_token_id"),
    )


def _uint_if_given(config: GgufConfig, key: str) -> int | None:
    value = config.uint(key, default=-1)
    return None if value < 0 else value


def _bool_if_given(config: GgufConfig, key: str) -> bool | None:
    value = config.get(key)
    return value if isinstance(value, bool) else None
