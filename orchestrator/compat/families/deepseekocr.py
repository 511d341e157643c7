"""DeepSeek OCR: two towers, SAM in front of CLIP."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.tower import (
    HALF,
    activate,
    copy_uint,
    promote_patches,
    rename_all,
    set_pixels,
    tower,
)

_CLIP_NAMES: Mapping[str, str] = {
    ".self_attn.out_proj": ".attn_out",
    ".self_attn.qkv_proj": ".attn_qkv",
    ".layer_norm1": ".ln1",
    ".layer_norm2": ".ln2",
    ".mlp.fc1": ".ffn_up",
    ".mlp.fc2": ".ffn_down",
    "v.pre_layrnorm": "v.pre_ln",
    "mm.layers": "mm.model.fc",
    "mm.image_newline": "v.image_newline",
    "mm.view_seperator": "v.view_seperator",
}
_SAM_NAMES: Mapping[str, str] = {
    ".attn.proj.": ".attn.out.",
    ".attn.rel_pos_h": ".attn.pos_h.weight",
    ".attn.rel_pos_w": ".attn.pos_w.weight",
    ".norm1.": ".pre_ln.",
    ".norm2.": ".post_ln.",
}
_SAM = "v.sam."
_EXPERT, _SHARED = "blk.1.ffn_down_exps.weight", "blk.1.ffn_down_shexp.weight"


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.take_name("deepseek2-ocr")
    draft.set_if_absent(".attention.layer_norm_rms_epsilon", "f32", 1e-6)
    if _EXPERT in source.tensors:
        width = source.dimension(_EXPERT, 0)
        draft.set_if_absent(".expert_feed_forward_length", "u32", width)
        if _SHARED in source.tensors:
            draft.set_if_absent(".expert_shared_count", "u32", source.dimension(_SHARED, 0) // width)
    draft.hide("s.", "v.", "mm.")
    return draft.plan()


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "deepseekocr", prefixes=("s.", "v.", "mm."))
    set_pixels(draft, HALF)
    activate(draft, "gelu")
    copy_uint(draft, "vision.head_count", "clip.vision.attention.head_count")
    for name in ("block_count", "embedding_length", "head_count"):
        copy_uint(draft, f"sam.{name}", f"clip.vision.sam.{name}")
    for name, value in (("feed_forward_length", 64), ("projection_dim", 1280), ("window_size", 14)):
        draft.set(f"clip.vision.{name}", "u32", value)
    draft.set("clip.vision.projector.scale_factor", "u32", 1)
    draft.set("clip.vision.attention.layer_norm_epsilon", "f32", 1e-6)
    draft.rename_each(_sam_name)
    rename_all(draft, _CLIP_NAMES)
    promote_patches(draft)
    draft.promote("v.sam.patch_embd.weight", "v.position_embd.weight")
    return draft.plan()


def _sam_name(name: str) -> str:
    if not name.startswith("s."):
        return name
    name = _SAM + name.removeprefix("s.")
    if name == "v.sam.position_embd":
        return "v.sam.pos_embd.weight"
    for old, new in _SAM_NAMES.items():
        name = name.replace(old, new, 1)
    return name


FAMILIES = {"deepseekocr": (Family(fits=lambda source: True, text=_text, projector=_projector),)}
