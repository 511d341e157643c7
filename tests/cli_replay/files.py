"""Model files that the recorded commands speak of, made from the small real one or from nothing."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tests import sample_models

_UINT32, _FLOAT32, _INT32, _STRING, _ARRAY = 4, 6, 5, 8, 9
_ALIGNMENT = 32
_F32, _F16 = 0, 1


def base() -> Path:
    """``<GGUF>``: a small real model."""
    return sample_models.smollm2()


def pooled() -> Path:
    """The same with a pooling type, which makes it an embedding model."""
    return sample_models.cached("smollm2-pooled.gguf", _write_pooled)


def half() -> Path:
    """``<HALF>``: a model of one block, all zeros in 16-bit floats, which can be quantized."""
    return sample_models.cached("half.gguf", _write_half)


def _write_pooled(path: Path) -> None:
    """Two more keys, together a multiple of the alignment, so that every offset stays valid."""
    content = base().read_bytes()
    keys = _key("llama.pooling_type", _UINT32, 1) + _key("x.pad", _STRING, "-----")
    assert len(keys) % _ALIGNMENT == 0
    (count,) = struct.unpack_from("<Q", content, 16)
    path.write_bytes(content[:16] + struct.pack("<Q", count + 2) + keys + content[24:])


def _write_half(path: Path) -> None:
    keys = [
        ("general.architecture", _STRING, "llama"),
        ("tokenizer.ggml.model", _STRING, "gpt2"),
        ("general.file_type", _UINT32, 1),
        ("llama.block_count", _UINT32, 1),
        ("llama.context_length", _UINT32, 64),
        ("llama.embedding_length", _UINT32, 256),
        ("llama.feed_forward_length", _UINT32, 256),
        ("llama.attention.head_count", _UINT32, 4),
        ("llama.attention.head_count_kv", _UINT32, 4),
        ("llama.rope.dimension_count", _UINT32, 64),
        ("llama.vocab_size", _UINT32, 32),
        ("llama.attention.layer_norm_rms_epsilon", _FLOAT32, 1e-5),
        ("tokenizer.ggml.tokens", _ARRAY, (_STRING, [f"t{number}" for number in range(32)])),
        ("tokenizer.ggml.token_type", _ARRAY, (_INT32, [1] * 32)),
    ]
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (256, 32), "output_norm": (256,)}
    for part in ("attn_norm", "ffn_norm"):
        shapes[f"blk.0.{part}"] = (256,)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        shapes[f"blk.0.{part}"] = (256, 256)
    index, size = b"", 0
    for name, shape in shapes.items():
        is_matrix = len(shape) == 2
        index += _text(f"{name}.weight") + struct.pack("<I", len(shape))
        index += struct.pack(f"<{len(shape)}Q", *shape)
        index += struct.pack("<IQ", _F16 if is_matrix else _F32, size)
        size += 2 * shape[0] * shape[1] if is_matrix else 4 * shape[0]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(keys))
    head += b"".join(_key(*key) for key in keys) + index
    path.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + bytes(size))


def _key(name: str, kind: int, value: Any) -> bytes:
    return _text(name) + struct.pack("<I", kind) + _value(kind, value)


def _value(kind: int, value: Any) -> bytes:
    match kind:
        case 8:
            return _text(value)
        case 9:
            item_kind, items = value
            head = struct.pack("<IQ", item_kind, len(items))
            return head + b"".join(_value(item_kind, item) for item in items)
        case _:
            return struct.pack({_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f"}[kind], value)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()
