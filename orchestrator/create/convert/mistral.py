"""Ministral 3 for text: ``Ministral3ForCausalLM``.

Source: ``gguf-convert`` §5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.create.convert.decoder import (
    STANDARD_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    heads_of,
    if_given,
    standard_sizes,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import rotated
from orchestrator.create.convert.scaling import rope_base
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(STANDARD_NAMES)


def convert_ministral3(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``mistral3`` file."""
    heads = heads_of(config)
    head_dim = config.uint("head_dim") or config.uint("hidden_size") // heads
    keys = standard_sizes(config) | head_lengths(head_dim)
    keys |= {
        "vocab_size": config.uint("vocab_size"),
        "rope.dimension_count": head_dim,
        "rope.freq_base": rope_base(config),
        **_scaling(config.section("rope_parameters", "rope_scaling")),
    }
    tensors = rotated(
        renamed_tensors(folder, _NAMES, config=config), heads, config.uint("num_key_value_heads")
    )
    return decoder_file(folder, config, "mistral3", keys, tensors)


def _scaling(scaling: Config) -> Metadata:
    """How positions are stretched; nothing for the type ``default``, which engines do not know."""
    kind = scaling.text("rope_type") or scaling.text("type")
    if kind in ("", "default"):
        return {}
    return {
        "rope.scaling.type": kind,
        "rope.scaling.factor": scaling.float("factor"),
        "rope.scaling.yarn_beta_fast": scaling.float("beta_fast"),
        "rope.scaling.yarn_beta_slow": scaling.float("beta_slow"),
        **if_given(
            {
                "rope.scaling.yarn_log_multiplier": scaling.float("mscale_all_dim"),
                "rope.scaling.original_context_length": scaling.uint("original_max_position_embeddings"),
                "attention.temperature_scale": scaling.float("llama_4_scaling_beta"),
            }
        ),
    }
