"""The smallest model that an engine loads: one layer of noise and a vocabulary of bytes."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

_NAME = "tiny"
_WIDTH = 32
_HEADS = 2
_INNER = 64
_CONTEXT = 512
_SPECIAL = ("<unk>", "<s>", "</s>")
_BYTES = 256


def write_tiny_model(path: Path) -> None:
    """Write it to ``path``; it is the same every time."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(_NAME)
    writer.add_block_count(1)
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    _add_vocabulary(writer)
    _add_tensors(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: gguf.GGUFWriter) -> None:
    kinds = (gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*_SPECIAL, *(f"<0x{byte:02X}>" for byte in range(_BYTES))])
    writer.add_token_scores([0.0] * (len(_SPECIAL) + _BYTES))
    writer.add_token_types([*kinds, *[gguf.TokenType.BYTE] * _BYTES])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def _add_tensors(writer: gguf.GGUFWriter) -> None:
    noise = np.random.default_rng(0)
    shapes = {
        "token_embd": (len(_SPECIAL) + _BYTES, _WIDTH),
        "blk.0.attn_q": (_WIDTH, _WIDTH),
        "blk.0.attn_k": (_WIDTH, _WIDTH),
        "blk.0.attn_v": (_WIDTH, _WIDTH),
        "blk.0.attn_output": (_WIDTH, _WIDTH),
        "blk.0.ffn_gate": (_INNER, _WIDTH),
        "blk.0.ffn_up": (_INNER, _WIDTH),
        "blk.0.ffn_down": (_WIDTH, _INNER),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", noise.standard_normal(shape, dtype=np.float32))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, dtype=np.float32))
