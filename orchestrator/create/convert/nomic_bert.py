"""Nomic encoders, dense and with experts: ``NomicBertModel`` and ``NomicBertMoEModel``.

Checkpoints come under two sets of names: those of the transformers library, and those of their publisher.
Source: ``gguf-convert`` §5.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.create.convert.base import GgufContent
from orchestrator.create.convert.encoder import (
    ATTENTION_OUTPUT_NAMES,
    DROPPED_TENSORS,
    EMBEDDING_NAMES,
    encoder_metadata,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        "encoder.layers": "blk",
        "encoder.layer": "blk",
        **EMBEDDING_NAMES,
        "attention.self.qkv": "attn_qkv",
        **ATTENTION_OUTPUT_NAMES,
        "output.LayerNorm": "layer_output_norm",
        "mlp.experts.up": "ffn_up_exps",
        "mlp.experts.down": "ffn_down_exps",
        "mlp.router": "ffn_gate_inp",
        "mlp.up": "ffn_up",
        "mlp.down": "ffn_down",
        # the publisher's names
        "emb_ln": "token_embd_norm",
        "attn.Wqkv": "attn_qkv",
        "attn.out_proj": "attn_output",
        "norm1": "attn_output_norm",
        "norm2": "layer_output_norm",
        "mlp.fc11": "ffn_up",
        "mlp.fc12": "ffn_gate",
        "mlp.fc2": "ffn_down",
    }
)


def convert_nomic_bert(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``nomic-bert`` file, or ``nomic-bert-moe`` if there are layers with experts."""
    metadata = encoder_metadata(folder, config)
    optional = {
        "attention.head_count_kv": config.uint("num_key_value_heads"),
        "rope.freq_base": config.float("rope_theta", "rotary_emb_base"),
        "expert_count": config.uint("num_local_experts", "num_experts"),
        "expert_used_count": config.uint("num_experts_per_tok", "moe_top_k"),
        "moe_every_n_layers": config.uint("moe_every_n_layers"),
    }
    metadata |= {key: value for key, value in optional.items() if value}
    architecture = "nomic-bert-moe" if optional["moe_every_n_layers"] else "nomic-bert"
    return GgufContent(architecture, metadata, renamed_tensors(folder, _NAMES, dropped=DROPPED_TENSORS))
