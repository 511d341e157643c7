"""Gemma 3n, its text part: ``Gemma3nForConditionalGeneration``.

Source: ``gguf-convert`` §5.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.create.convert.config import Config
from orchestrator.create.convert.decoder import (
    LAYER_NAMES,
    QK_NORM_NAMES,
    SANDWICH_NORM_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    layers_of,
    standard_sizes,
)
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.gemma import local_layers
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import clamped, series
from orchestrator.create.convert.scaling import rope_base
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent, OutputTensor
    from orchestrator.create.convert.folder import ModelFolder

_TEXT = "model.language_model."
_NAMES = Renaming(
    {
        f"{_TEXT}embed_tokens_per_layer": "per_layer_token_embd",
        f"{_TEXT}embed_tokens": "token_embd",
        f"{_TEXT}per_layer_model_projection": "per_layer_model_proj",
        f"{_TEXT}per_layer_projection_norm": "per_layer_proj_norm",
        f"{_TEXT}altup_projections": "altup_proj",
        f"{_TEXT}altup_unembed_projections": "altup_unembd_proj",
        f"{_TEXT}norm": "output_norm",
        f"{_TEXT}layers": "blk",
        **LAYER_NAMES,
        **QK_NORM_NAMES,
        **SANDWICH_NORM_NAMES,
        "per_layer_input_gate": "inp_gate",
        "per_layer_projection": "proj",
        "post_per_layer_input_norm": "post_norm",
        "altup.": "altup_",
        "modality_router": "router",
        "prediction_coefs": "predict_coef",
        "correction_coefs": "correct_coef",
        "correct_output_scale": "correct_scale.weight",
        "laurel.": "laurel_",
        "linear_left": "l",
        "linear_right": "r",
        "post_laurel_norm": "post_norm",
    }
)
_TOWERS = ("audio_tower", "embed_audio", "vision_tower", "embed_vision")
_SERIES = re.compile(r"(?P<name>altup_(?:unembd_)?proj)\.(?P<number>\d+)\.weight")
_COEFFICIENTS = re.compile(r"blk\.\d+\.altup_(predict|correct)_coef\.weight")


def convert_gemma3n(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``gemma3n`` file."""
    text = config.section("text_config")
    tensors = series(_text_alone(renamed_tensors(folder, _NAMES, config=config)), _SERIES)
    limit = text.float("altup_coef_clip")
    limited = (
        clamped(tensor, limit) if limit > 0 and _COEFFICIENTS.fullmatch(tensor.name) else tensor
        for tensor in tensors
    )
    return decoder_file(folder, config, "gemma3n", _keys(text), limited)


def _text_alone(tensors: Iterable[OutputTensor]) -> Iterator[OutputTensor]:
    return (tensor for tensor in tensors if not any(tower in tensor.name for tower in _TOWERS))


def _keys(text: Config) -> Metadata:
    sizes = Config({**text.values, "intermediate_size": _feed_forward(text)}, text.architecture)
    return standard_sizes(sizes) | {
        **head_lengths(text.uint("head_dim")),
        "activation_sparsity_scale": [*map(_quantile, text.items("activation_sparsity_pattern"))],
        "altup.active_idx": text.uint("altup_active_idx"),
        "altup.correct_scale": text.flag("altup_correct_scale"),
        "altup.lr_multiplier": text.float("altup_lr_multiplier"),
        "altup.num_inputs": text.uint("altup_num_inputs"),
        "attention.sliding_window": text.uint("sliding_window"),
        "attention.sliding_window_pattern": local_layers(text, layers_of(text), every=5),
        "attention.shared_kv_layers": text.uint("num_kv_shared_layers"),
        "embedding_length_per_layer_input": text.uint("hidden_size_per_layer_input"),
        "head_dim": text.uint("head_dim"),
        "rope.freq_base_swa": text.float("rope_local_base_freq"),
        "rope.freq_base": rope_base(text),
    }


def _feed_forward(text: Config) -> object:
    """The width of all layers, which is written down for each."""
    widths = text.values.get("intermediate_size")
    if not isinstance(widths, list):
        return widths
    if not widths:
        raise text.refused("intermediate_size must not be empty")
    if any(width != widths[0] for width in widths):
        raise text.refused("intermediate_size values must match")
    return widths[0]


def _quantile(share: object) -> float:
    """Below which value a normal distribution has ``share`` of its weight."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ConversionFailed(f"parse config.json: bad activation_sparsity_pattern entry {share!r:.80}")
    if share in (0, 1):
        return float(np.copysign(np.inf, share - 0.5))
    return NormalDist().inv_cdf(share)
