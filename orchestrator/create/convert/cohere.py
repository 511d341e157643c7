"""Command R: ``CohereForCausalLM``.

Source: ``gguf-convert`` §5.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.create.convert.decoder import (
    BODY_NAMES,
    LAYER_NAMES,
    QK_NORM_NAMES,
    decoder_file,
    standard_sizes,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.scaling import rope_base
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming({**BODY_NAMES, **LAYER_NAMES, **QK_NORM_NAMES})


def convert_cohere(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``command-r`` file."""
    keys = standard_sizes(config)
    del keys["attention.layer_norm_rms_epsilon"]
    context = config.uint("model_max_length", "max_position_embeddings", "n_ctx")
    keys |= {
        "general.name": "command-r",
        "context_length": context,
        "attention.layer_norm_epsilon": config.float("layer_norm_eps"),
        "rope.freq_base": rope_base(config),
        "max_position_embeddings": context,
        "logit_scale": config.float("logit_scale"),
        "rope.scaling.type": "none",
    }
    return decoder_file(folder, config, "command-r", keys, renamed_tensors(folder, _NAMES, config=config))
