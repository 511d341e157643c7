"""BERT encoders: ``BertModel``, as most sentence-transformers are.

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
        "encoder.layer": "blk",
        **EMBEDDING_NAMES,
        "attention.self.query": "attn_q",
        "attention.self.key": "attn_k",
        "attention.self.value": "attn_v",
        **ATTENTION_OUTPUT_NAMES,
        "intermediate.dense": "ffn_up",
        "output.dense": "ffn_down",
        "output.LayerNorm": "layer_output_norm",
    }
)


def convert_bert(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``bert`` file."""
    return GgufContent(
        "bert", encoder_metadata(folder, config), renamed_tensors(folder, _NAMES, dropped=DROPPED_TENSORS)
    )
