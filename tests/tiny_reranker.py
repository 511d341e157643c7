"""A reranker of a few kilobytes: BERT with random weights and a head that gives one score."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from tests.gguf_builder import Tensor, Typed, build_gguf

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁owls", "▁hunt", "▁at", "▁night", "▁bread", "▁rises", "▁slowly")
RANK_POOLING = 4

_WIDTH, _FEED_FORWARD, _CONTEXT = 32, 64, 64


def tiny_reranker(seed: int = 1) -> bytes:
    """The file. The same seed makes the same weights."""
    source = random.Random(seed)
    return build_gguf(_metadata(), [_tensor(source, name, shape) for name, shape in _shapes()])


def _metadata() -> dict[str, object]:
    return {
        "general.architecture": "bert",
        "general.name": "tiny reranker",
        "bert.block_count": 1,
        "bert.context_length": _CONTEXT,
        "bert.embedding_length": _WIDTH,
        "bert.feed_forward_length": _FEED_FORWARD,
        "bert.attention.head_count": 2,
        "bert.attention.layer_norm_epsilon": 1e-12,
        "bert.attention.causal": False,
        "bert.pooling_type": RANK_POOLING,
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.pre": "jina-v2-en",
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.tokens": list(WORDS),
        "tokenizer.ggml.scores": [0.0] * len(WORDS),
        "tokenizer.ggml.token_type": Typed("arr:i32", [3, 2, 3, 3, *[1] * (len(WORDS) - 4)]),
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.unknown_token_id": 1,
        "tokenizer.ggml.cls_token_id": 2,
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 3,
        "tokenizer.ggml.seperator_token_id": 3,  # as the format spells it
    }


def _shapes() -> list[tuple[str, tuple[int, ...]]]:
    """All tensors, innermost dimension first."""
    square, vector = (_WIDTH, _WIDTH), (_WIDTH,)
    block = {
        **{f"attn_{name}.weight": square for name in ("q", "k", "v", "output")},
        **{f"attn_{name}.bias": vector for name in ("q", "k", "v", "output")},
        "attn_output_norm.weight": vector,
        "attn_output_norm.bias": vector,
        "ffn_up.weight": (_WIDTH, _FEED_FORWARD),
        "ffn_up.bias": (_FEED_FORWARD,),
        "ffn_down.weight": (_FEED_FORWARD, _WIDTH),
        "ffn_down.bias": vector,
        "layer_output_norm.weight": vector,
        "layer_output_norm.bias": vector,
    }
    return [
        ("token_embd.weight", (_WIDTH, len(WORDS))),
        ("position_embd.weight", (_WIDTH, _CONTEXT)),
        ("token_types.weight", (_WIDTH, 2)),
        ("token_embd_norm.weight", vector),
        ("token_embd_norm.bias", vector),
        *((f"blk.0.{name}", shape) for name, shape in block.items()),
        ("cls.weight", square),
        ("cls.bias", vector),
        ("cls.output.weight", (_WIDTH, 1)),
        ("cls.output.bias", (1,)),
    ]


def _tensor(source: random.Random, name: str, shape: Sequence[int]) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    values = [source.gauss(0.0, 0.5) for _ in range(count)]
    return Tensor(name, tuple(shape), data=struct.pack(f"<{count}f", *values))
