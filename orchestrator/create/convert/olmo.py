"""OLMo 3, whose norms stand behind attention and feed-forward parts: ``Olmo3ForCausalLM``.

Source: ``gguf-convert`` §5.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.create.convert.decoder import (
    BODY_NAMES,
    HEAD_NAMES,
    LAYER_NAMES,
    QK_NORM_NAMES,
    decoder_file,
    if_given,
    standard_sizes,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.scaling import rope_base, scaling_of
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        **HEAD_NAMES,
        **BODY_NAMES,
        **LAYER_NAMES,
        **QK_NORM_NAMES,
        "post_attention_layernorm": "post_attention_norm",
        "post_feedforward_layernorm": "post_ffw_norm",
    }
)


def convert_olmo3(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of an ``olmo2`` file, which is what engines call both."""
    keys = standard_sizes(config)
    keys["attention.head_count_kv"] = keys["attention.head_count_kv"] or keys["attention.head_count"]
    keys |= if_given({"rope.freq_base": rope_base(config)})
    scaling, kind = scaling_of(config)
    if kind not in ("", "default"):
        keys |= if_given(
            {
                "rope.scaling.factor": scaling.float("factor"),
                "rope.scaling.original_context_length": scaling.uint("original_max_position_embeddings"),
                "rope.scaling.attn_factor": scaling.float("attention_factor", "attn_factor"),
                "rope.scaling.type": kind,
            }
        )
    keys |= if_given({"attention.sliding_window": config.uint("sliding_window")})
    if kinds := config.items("layer_types"):
        keys["attention.sliding_window_pattern"] = [kind == "sliding_attention" for kind in kinds]
    return decoder_file(folder, config, "olmo2", keys, renamed_tensors(folder, _NAMES, config=config))
