"""Qwen 3 VL, dense and of experts."""

from __future__ import annotations

import math

from orchestrator.compat.draft import Draft
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.families.base import Family
from orchestrator.compat.families.qwen3_tower import take_tower_names
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.tower import (
    HALF,
    activate,
    copy_float,
    copy_uint,
    join_attention,
    promote_patches,
    set_pixels,
    split_frames,
    tower,
)

_SECTIONS = "rope.dimension_sections"
_DEEP = "vision.deepstack_visual_indexes"
_DEEP_MERGER = "v.deepstack_merger."


def _is_private(source: Source) -> bool:
    return not source.config.has(_SECTIONS) or source.has_tensors("v.", "mm.")


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.set_if_absent(f".{_SECTIONS}", "arr:i32", [24, 20, 20, 0])
    draft.set_if_absent(".n_deepstack_layers", "u32", len(source.config.uints(_DEEP)))
    draft.hide("v.", "mm.")
    return draft.plan()


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "qwen3vl_merger")
    set_pixels(draft, HALF)
    activate(draft, "gelu")
    for name, default in (("temporal_patch_size", 2), ("num_channels", 3)):
        copy_uint(draft, f"vision.{name}", f"clip.vision.{name}", default=default)
    copy_float(draft, "vision.rope.freq_base", "clip.vision.rope.freq_base", default=1e4)
    feed_forward = source.dimension("v.blk.0.mlp.linear_fc1.weight", 1)
    draft.set("clip.vision.feed_forward_length", "u32", feed_forward)
    side = math.isqrt(source.dimension("v.pos_embed.weight", 1))
    draft.set("clip.vision.image_size", "u32", side * source.config.uint("vision.patch_size"))
    copy_uint(draft, "vision.shortest_edge", "clip.vision.image_min_pixels", default=65536)
    copy_uint(draft, "vision.longest_edge", "clip.vision.image_max_pixels", default=16777216)
    join_attention(draft)
    split_frames(draft, "v.patch_embed.weight")
    _place_deep_mergers(draft)
    take_tower_names(draft)
    promote_patches(draft)
    return draft.plan()


def _place_deep_mergers(draft: Draft) -> None:
    """Name the mergers after the layers they stand behind."""
    layers = draft.source.config.uints(_DEEP)
    is_deep = [number in layers for number in range(draft.source.vision_blocks())]
    draft.set("clip.vision.is_deepstack_layers", "arr:bool", is_deep)
    draft.rename_each(lambda name: _deep_name(name, layers) if name.startswith(_DEEP_MERGER) else name)


def _deep_name(name: str, layers: tuple[int, ...]) -> str:
    number, _, part = name.removeprefix(_DEEP_MERGER).partition(".")
    if not number.isdigit() or int(number) >= len(layers):
        raise CannotTranslate(f'tensor "{name}" belongs to none of the layers {layers}')
    return f"v.deepstack.{layers[int(number)]}.{part.replace('linear_', '', 1)}"


_FAMILY = Family(fits=_is_private, text=_text, projector=_projector)

FAMILIES = {"qwen3vl": (_FAMILY,), "qwen3vlmoe": (_FAMILY,)}
