"""Qwen 2 and Qwen 3, dense and with experts.

Source: ``gguf-convert`` §5.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from orchestrator.create.convert.decoder import (
    QK_NORM_NAMES,
    STANDARD_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    heads_of,
    if_given,
    standard_sizes,
)
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import cut, stacked, transposed
from orchestrator.create.convert.scaling import rope_base, scaling_of, unknown_scaling, yarn_keys
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder

_QWEN2_NAMES = Renaming(STANDARD_NAMES)
_QWEN3_NAMES = Renaming(
    {
        "mlp.experts.gate_up_proj": "ffn_gate_up_exps.weight",
        "mlp.experts.down_proj": "ffn_down_exps.weight",
        "mlp.gate.weight": "ffn_gate_inp.weight",
        **STANDARD_NAMES,
        **QK_NORM_NAMES,
    }
)
EXPERTS = re.compile(
    r"blk\.(?P<layer>\d+)\.mlp\.experts\.(?P<expert>\d+)\.(?P<part>\w+_proj)\.(?P<kind>weight|bias)"
)
EXPERT_PARTS = {"gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps"}


def convert_qwen2(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``qwen2`` file."""
    keys = standard_sizes(config) | {"rope.freq_base": rope_base(config)} | _scaling(config)
    return decoder_file(folder, config, "qwen2", keys, renamed_tensors(folder, _QWEN2_NAMES, config=config))


def convert_qwen3(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``qwen3`` file, or ``qwen3moe`` for a model with experts."""
    heads = heads_of(config)
    keys = standard_sizes(config) | head_lengths(
        config.uint("head_dim") or config.uint("hidden_size") // heads
    )
    keys |= {"rope.freq_base": rope_base(config)} | _scaling(config)
    experts = config.uint("num_experts", "num_local_experts")
    if experts:
        keys |= {"expert_count": experts, "norm_top_k_prob": config.flag("norm_topk_prob", True)} | if_given(
            {
                "expert_used_count": config.uint("num_experts_per_tok"),
                "expert_feed_forward_length": config.uint("moe_intermediate_size"),
            }
        )
    tensors = stacked(renamed_tensors(folder, _QWEN3_NAMES, config=config), EXPERTS, EXPERT_PARTS)
    return decoder_file(folder, config, "qwen3moe" if experts else "qwen3", keys, _unfused(tensors))


def _unfused(tensors: Iterable[OutputTensor]) -> Iterator[OutputTensor]:
    """Experts that come as one tensor: gates and ups side by side, rows and columns exchanged."""
    for tensor in tensors:
        if tensor.name.endswith(".ffn_gate_up_exps.weight"):
            half = tensor.shape[-1] // 2
            for part, columns in (("gate", slice(half)), ("up", slice(half, None))):
                name = tensor.name.replace("gate_up", part)
                yield transposed(cut(tensor, name, (slice(None), slice(None), columns)))
        elif tensor.name.endswith(".ffn_down_exps.weight") and not tensor.stacked:
            yield transposed(tensor)
        else:
            yield tensor


def _scaling(config: Config) -> Metadata:
    scaling, kind = scaling_of(config)
    match kind:
        case "" | "default" | "mrope":
            sections = scaling.uints("mrope_section")
            return {"rope.mrope_section": sections} if sections else {}
        case "yarn":
            return yarn_keys(scaling)
    raise unknown_scaling(config, kind)
