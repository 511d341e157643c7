"""Qwen 2.5 VL."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family, set_rope_sections
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.tower import (
    CLIP,
    FRAME_NAMES,
    activate,
    copy_uint,
    promote_patches,
    rename_all,
    set_pixels,
    tower,
)

_TOWER_NAMES: Mapping[str, str] = {
    "v.merger.ln_q": "v.post_ln",
    "v.merger.mlp.0": "mm.0",
    "v.merger.mlp.2": "mm.2",
    **FRAME_NAMES,
}
_ALL_ATTENTION = "vision.fullatt_block_indexes"


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.take_name("qwen2vl")
    set_rope_sections(draft)
    draft.hide("v.", "mm.")
    return draft.plan()


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "qwen2.5vl_merger")
    set_pixels(draft, CLIP)
    activate(draft, "silu")
    copy_uint(draft, "vision.window_size", "clip.vision.window_size")
    draft.set("clip.vision.feed_forward_length", "u32", source.dimension("v.blk.0.ffn_up.weight", 1))
    first = source.config.uints(_ALL_ATTENTION)[:1]
    draft.set("clip.vision.n_wa_pattern", "u32", first[0] + 1 if first else 8)
    draft.set("clip.vision.image_size", "u32", 560)
    rename_all(draft, _TOWER_NAMES)
    promote_patches(draft)
    return draft.plan()


FAMILIES = {"qwen25vl": (Family(fits=lambda source: True, text=_text, projector=_projector),)}
