"""gpt-oss, whose experts are published in MXFP4, under two sets of names.

Source: ``gguf-convert`` §5.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.create.convert.base import OutputTensor
from orchestrator.create.convert.decoder import (
    STANDARD_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    if_given,
    standard_sizes,
)
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import cut
from orchestrator.create.convert.scaling import rope_base
from orchestrator.create.convert.tensors import renamed_tensors, sources_of
from orchestrator.create.convert.tokenizer import SpecialToken, Tokenizer, read_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from orchestrator.create.convert.base import GgufContent
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder
    from orchestrator.files.safetensors import SafetensorsTensor

_NAMES = Renaming(
    {
        "self_attn.sinks": "attn_sinks.weight",
        "mlp.router": "ffn_gate_inp",
        "mlp.experts.gate_up_proj_": "ffn_gate_up_exps.",
        "mlp.experts.down_proj_": "ffn_down_exps.",
        "post_attention_layernorm": "post_attention_norm",
        **{name: new for name, new in STANDARD_NAMES.items() if name != "post_attention_layernorm"},
    }
)
_ORIGINAL_NAMES = Renaming(
    {
        "block": "blk",
        "attn.norm": "attn_norm",
        "attn.qkv": "attn_qkv",
        "attn.sinks": "attn_sinks.weight",
        "attn.out": "attn_output",
        "mlp.norm": "post_attention_norm",
        "mlp.gate": "ffn_gate_inp",
        "mlp.mlp1_weight.blocks": "ffn_gate_up_exps.blocks",
        "mlp.mlp1_weight.scales": "ffn_gate_up_exps.scales",
        "mlp.mlp2_weight.blocks": "ffn_down_exps.blocks",
        "mlp.mlp2_weight.scales": "ffn_down_exps.scales",
        "mlp.mlp1_": "ffn_gate_up_exps.",
        "mlp.mlp2_": "ffn_down_exps.",
        "embedding": "token_embd",
        "norm": "output_norm",
        "unembedding": "output",
        "scale": "weight",
    }
)
_MOSTLY_MXFP4 = 4
_EPSILON = 1e-5
_BLOCKS, _SCALES = ".blocks", ".scales"
_GROUP = 32
_SPECIAL: Mapping[str, SpecialToken] = {
    "bos": SpecialToken(199998, add=False),
    "eos": SpecialToken(199999, add=False, ids=(199999, 200002, 200012)),
}


def convert_gpt_oss(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``gpt-oss`` file."""
    rename = _NAMES if config.uint("max_position_embeddings") else _ORIGINAL_NAMES
    packed = [source for source in sources_of(folder) if source.dtype == "U8"]
    tensors = renamed_tensors(folder, rename, dropped=[source.name for source in packed])
    experts = _mxfp4({rename(source.name): source for source in packed})
    return decoder_file(
        folder,
        config,
        "gpt-oss",
        _keys(config),
        _gates_and_ups([*tensors, *experts]),
        _tokenizer(folder),
    )


def _keys(config: Config) -> Metadata:
    scaling = config.section("rope_scaling")
    factor = scaling.float("factor") or config.float("rope_scaling_factor")
    original = scaling.uint("original_max_position_embeddings") or config.uint("initial_context_length")
    sizes = standard_sizes(config)
    return sizes | {
        "general.file_type": _MOSTLY_MXFP4,
        "context_length": sizes["context_length"] or int(factor * original),
        **head_lengths(config.uint("head_dim")),
        "expert_feed_forward_length": config.uint("intermediate_size"),
        "expert_count": config.uint("num_experts", "num_local_experts"),
        "expert_used_count": config.uint("experts_per_token", "num_experts_per_tok"),
        "attention.layer_norm_rms_epsilon": config.float("rms_norm_eps") or _EPSILON,
        "attention.sliding_window": config.uint("sliding_window"),
        "rope.freq_base": rope_base(config),
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": factor,
        "rope.scaling.original_context_length": original,
        **if_given(
            {
                "rope.scaling.yarn_beta_fast": scaling.float("beta_fast"),
                "rope.scaling.yarn_beta_slow": scaling.float("beta_slow"),
            }
        ),
    }


def _tokenizer(folder: ModelFolder) -> Tokenizer:
    tokenizer = read_tokenizer(folder)
    return replace(tokenizer, pre="gpt-4o", special={**tokenizer.special, **_SPECIAL})


def _mxfp4(sources: Mapping[str, SafetensorsTensor]) -> Iterator[OutputTensor]:
    """The tensors whose numbers and scales come apart. Raises ``ConversionFailed``."""
    for name, source in sources.items():
        base, _, part = name.rpartition(".")
        other = {_BLOCKS: _SCALES, _SCALES: _BLOCKS}.get(f".{part}")
        if other is None or base + other not in sources:
            raise ConversionFailed(f'tensor "{source.name}" lacks its {(other or _BLOCKS)[1:]}')
        if f".{part}" == _BLOCKS:
            yield _packed(f"{base}.weight", source, sources[base + _SCALES])


def _packed(name: str, blocks: SafetensorsTensor, scales: SafetensorsTensor) -> OutputTensor:
    *outer, size = blocks.shape or (0,)
    if size != _GROUP // 2 or tuple(outer) != scales.shape or len(outer) < 2:
        raise ConversionFailed(
            f'tensor "{blocks.name}" of shape {list(blocks.shape)} does not go with scales of shape '
            f"{list(scales.shape)}"
        )
    *rows, groups = outer
    return OutputTensor(name, (*rows, groups * _GROUP), "MXFP4", lambda: _interleaved(blocks, scales))


def _interleaved(blocks: SafetensorsTensor, scales: SafetensorsTensor) -> NDArray[Any]:
    """Each group as the engine reads it: its scale, then number k beside number k + 16 in each byte."""
    packed = blocks.stored()
    numbers = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], _GROUP)
    halves = numbers[..., : _GROUP // 2] | numbers[..., _GROUP // 2 :] << 4
    groups = np.concatenate([scales.stored()[..., None], halves], axis=-1)
    return groups.reshape(*groups.shape[:-2], -1)


def _gates_and_ups(tensors: Iterable[OutputTensor]) -> Iterator[OutputTensor]:
    """Gates and ups, whose rows alternate, as tensors of their own."""
    for tensor in tensors:
        if ".ffn_gate_up_exps." not in tensor.name:
            yield tensor
            continue
        for part, first in (("gate", 0), ("up", 1)):
            yield cut(tensor, tensor.name.replace("gate_up", part), (slice(None), slice(first, None, 2)))
