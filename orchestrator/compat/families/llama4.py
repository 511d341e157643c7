"""Llama 4."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.tower import (
    HALF,
    activate,
    copy_float,
    promote_patches,
    rename_all,
    set_pixels,
    tower,
)

_TOWER_NAMES: Mapping[str, str] = {
    "v.vision_adapter.mlp.fc1": "mm.model.mlp.1",
    "v.vision_adapter.mlp.fc2": "mm.model.mlp.2",
    "mm.linear_1": "mm.model.fc",
    "v.class_embedding": "v.class_embd",
    "v.layernorm_pre": "v.pre_ln",
    "v.layernorm_post": "v.post_ln",
    "v.patch_embedding": "v.patch_embd",
    ".attn_output": ".attn_out",
    ".attn_norm": ".ln1",
    ".ffn_norm": ".ln2",
    ".mlp.fc1": ".ffn_up",
    ".mlp.fc2": ".ffn_down",
}
_POSITIONS = "v.positional_embedding_vlm"


def _has_tower(source: Source) -> bool:
    return source.has_tensors("v.", "mm.")


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.hide("v.", "mm.")
    return draft.plan()


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "llama4")
    draft.set("clip.vision.projector_type", "str", "llama4")
    set_pixels(draft, HALF)
    activate(draft, "gelu")
    epsilon = "clip.vision.attention.layer_norm_epsilon"
    copy_float(draft, "vision.layer_norm_epsilon", epsilon)
    ratio = source.config.float("vision.pixel_shuffle_ratio")
    draft.set("clip.vision.projector.scale_factor", "u32", round(1 / ratio) if ratio > 0 else 2)
    rename_all(draft, _TOWER_NAMES)
    draft.rename_each(
        lambda name: "v.position_embd.weight" if name.removesuffix(".weight") == _POSITIONS else name
    )
    promote_patches(draft)
    return draft.plan()


FAMILIES = {"llama4": (Family(fits=_has_tower, text=_text, projector=_projector),)}
