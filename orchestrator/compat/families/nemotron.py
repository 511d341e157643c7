"""Nemotron H: experts behind a narrow layer, and the model of images and sound around it."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.compat.draft import Draft
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan, Operation
from orchestrator.compat.source import Source
from orchestrator.compat.tower import CLIP, activate, copy_float, copy_uint, set_pixels, tower

_TOWERS = ("a.", "v.", "mm.")
_NARROW = ".ffn_latent_in"
_COPIED: Mapping[str, int | None] = {
    "projector.scale_factor": 2,
    "image_token_id": None,
    "image_start_token_id": None,
    "image_end_token_id": None,
    "max_tiles": None,
    "min_num_patches": None,
    "max_num_patches": None,
}
_DEFAULTS: Mapping[str, int] = {
    "image_size": 512,
    "patch_size": 16,
    "embedding_length": 1280,
    "block_count": 32,
    "attention.head_count": 16,
}
_TOWER_NAMES: Mapping[str, str] = {
    "v.cls_embd": "v.class_embd",
    "mm.norm.weight": "mm.model.mlp.0.weight",
    "mm.1.weight": "mm.model.mlp.1.weight",
    "mm.2.weight": "mm.model.mlp.3.weight",
}
_LARGEST_SIDE = 1024
"""Of an image, in patches."""
_POSITIONS = ("v.position_embd.weight", "v.position_embd")


def _has_narrow_layers(source: Source) -> bool:
    return source.has_tensors(f"blk.0{_NARROW}", f"blk.1{_NARROW}", "mtp.")


def _moe_text(source: Source) -> FilePlan:
    draft = Draft(source)
    _name_narrow_layers(draft)
    return draft.plan()


def _name_narrow_layers(draft: Draft) -> None:
    width = next(
        (tensor.shape[1] for name, tensor in draft.tensors.items() if f"{_NARROW}.weight" in name), 0
    )
    if width:
        draft.set_if_absent(".moe_latent_size", "u32", width)
    draft.rename(_NARROW, ".ffn_latent_down")
    draft.rename(".ffn_latent_out", ".ffn_latent_up")
    draft.hide("mtp.")


def _omni_text(source: Source) -> FilePlan:
    draft = Draft(source)
    config = source.config
    has_experts = config.uint("expert_count") > 0 or config.uint("expert_used_count") > 0
    draft.take_name("nemotron_h_moe" if has_experts else "nemotron_h", without=("vision.", "audio."))
    draft.hide(*_TOWERS)
    if has_experts:
        _name_narrow_layers(draft)
    return draft.plan()


def _omni_projector(source: Source) -> FilePlan:
    draft = tower(source, "")
    draft.hide("mm.a.")
    draft.set("clip.vision.projector_type", "str", "nemotron_v2_vl")
    draft.set("clip.has_audio_encoder", "bool", False)
    set_pixels(draft, CLIP)
    activate(draft, "gelu")
    for name, default in _COPIED.items():
        copy_uint(draft, f"vision.{name}", f"clip.vision.{name}", default=default)
    for name, default in _DEFAULTS.items():
        copy_uint(draft, f"vision.{name}", f"clip.vision.{name}", default=default)
    width = source.config.uint("vision.embedding_length") or _DEFAULTS["embedding_length"]
    draft.set_if_absent("clip.vision.feed_forward_length", "u32", 4 * width)
    epsilon = "attention.layer_norm_epsilon"
    copy_float(draft, f"vision.{epsilon}", f"clip.vision.{epsilon}", default=1e-6)
    draft.rename_each(_tower_name)
    draft.promote("v.class_embd")
    _fit_to_image(draft, width)
    return draft.plan()


def _tower_name(name: str) -> str:
    return _TOWER_NAMES.get(name, name)


def _fit_to_image(draft: Draft, width: int) -> None:
    """Position embeddings for the image's size (T7); patches as the small images they are (T8)."""
    config = draft.source.config
    patch = config.uint("vision.patch_size") or _DEFAULTS["patch_size"]
    side = (config.uint("vision.image_size") or _DEFAULTS["image_size"]) // patch
    if side > _LARGEST_SIDE:
        raise CannotTranslate(f"an image of {side} by {side} patches")
    for name in filter(draft.get, _POSITIONS):
        draft.compute(name, Operation.RESAMPLE, shape=(width, side * side), embedding=width, side=side)
    draft.rename_each(lambda name: _POSITIONS[0] if name == _POSITIONS[1] else name)
    patches = draft.stored("v.patch_embd.weight")
    if len(patches.shape) == 2:
        channels, rest = divmod(patches.shape[0], patch * patch)
        if rest:
            raise CannotTranslate(f"patches of {patches.shape[0]} numbers are no squares of {patch}")
        shape = (patch, patch, channels, patches.shape[1])
        draft.compute(patches.name, Operation.PROMOTE, shape=shape)
    else:
        draft.promote(patches.name)


FAMILIES = {
    "nemotron_h_moe": (Family(fits=_has_narrow_layers, text=_moe_text),),
    "nemotron_h_omni": (Family(fits=lambda source: True, text=_omni_text, projector=_omni_projector),),
}
