"""Qwen 3.5 and Qwen3-Next: recurrent layers under other names, a head that guesses ahead, a vision tower."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.families.guessing import take_guessing_head
from orchestrator.compat.families.qwen3_tower import take_tower_names
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.tower import (
    HALF,
    activate,
    join_attention,
    promote_patches,
    set_pixels,
    split_frames,
    tower,
)

_PRIVATE_KEYS = ("vision.block_count", "image_token_id", "ssm.v_head_reordered", "rope.mrope_interleaved")
_STEP = ".ssm_dt"
_HEADS = "attention.head_count_kv"
_SECTIONS = "rope.dimension_sections"


def _is_private(source: Source) -> bool:
    return any(map(source.config.has, _PRIVATE_KEYS)) or source.has_tensors("mtp.", "v.")


def _is_private_moe(source: Source) -> bool:
    return _is_private(source) or source.config.has("feed_forward_length")


def _has_bare_step(source: Source) -> bool:
    return any(name.endswith(_STEP) for name in source.tensors)


def _text(source: Source) -> FilePlan:
    draft = _with_plain_heads(source)
    sections = source.config.uints(_SECTIONS)
    if len(sections) == 3:
        draft.set(f".{_SECTIONS}", "arr:i32", [*sections, 0])
    take_guessing_head(draft)
    draft.hide("v.", "mm.", "mtp.")
    return draft.plan()


def _next_text(source: Source) -> FilePlan:
    return _with_plain_heads(source).plan()


def _with_plain_heads(source: Source) -> Draft:
    draft = Draft(source)
    if source.array_length(_HEADS):
        draft.set(f".{_HEADS}", "u32", max(source.config.uints(_HEADS), default=0) or 2)
    draft.rename_each(lambda name: f"{name}.bias" if name.endswith(_STEP) else name)
    return draft


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "qwen3vl_merger")
    set_pixels(draft, HALF)
    activate(draft, "gelu")
    draft.set_if_absent("clip.vision.feed_forward_length", "u32", 4304)
    draft.set_if_absent("clip.vision.image_size", "u32", 768)
    draft.set_if_absent("clip.vision.attention.layer_norm_epsilon", "f32", 1e-6)
    draft.set_if_absent("clip.vision.is_deepstack_layers", "arr:bool", [False] * source.vision_blocks())
    join_attention(draft)
    split_frames(draft, "v.patch_embed.weight")
    take_tower_names(draft)
    promote_patches(draft)
    return draft.plan()


FAMILIES = {
    "qwen35": (Family(fits=_is_private, text=_text, projector=_projector),),
    "qwen35moe": (Family(fits=_is_private_moe, text=_text, projector=_projector),),
    "qwen3next": (Family(fits=_has_bare_step, text=_next_text),),
}
