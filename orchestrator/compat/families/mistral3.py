"""Mistral 3: keys of its long context, and the Pixtral tower."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.compat.draft import Draft
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import Computed, FilePlan, Operation, PlannedTensor
from orchestrator.compat.source import Source
from orchestrator.compat.tower import (
    activate,
    copy_float,
    copy_uint,
    promote_patches,
    rename_all,
    set_pixels,
    tower,
)
from orchestrator.compat.vocabulary import lacks_pre_tokenizer, set_pre_tokenizer

_KEYS: Mapping[str, str] = {
    "rope.scaling.beta_fast": "rope.scaling.yarn_beta_fast",
    "rope.scaling.beta_slow": "rope.scaling.yarn_beta_slow",
    "rope.scaling.mscale_all_dim": "rope.scaling.yarn_log_multiplier",
    "rope.scaling_beta": "attention.temperature_scale",
}
_MARKS = ("rope.scaling.beta_fast", "rope.scaling.mscale_all_dim", "rope.scaling_beta")
_PIXELS = ([0.48145467, 0.4578275, 0.40821072], [0.26862955, 0.26130259, 0.2757771])
_TOWER_NAMES: Mapping[str, str] = {
    "v.patch_conv": "v.patch_embd",
    "v.encoder_norm": "v.pre_ln",
    ".attn_output": ".attn_out",
    ".attn_norm": ".ln1",
    ".ffn_norm": ".ln2",
    "mm.linear_1": "mm.1",
    "mm.linear_2": "mm.2",
    "mm.patch_merger.merging_layer": "mm.patch_merger",
    "mm.norm": "mm.input_norm",
}
_LINE_BREAK = "v.token_embd.img_break"


def _is_private(source: Source) -> bool:
    return source.has_tensors("v.", "mm.") or any(map(source.config.has, _MARKS))


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    for old, new in _KEYS.items():
        draft.rename_key(f".{old}", f".{new}")
    if lacks_pre_tokenizer(draft):
        set_pre_tokenizer(draft, "tekken")
    draft.hide("v.", "mm.")
    return draft.plan()


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "pixtral")
    set_pixels(draft, _PIXELS)
    activate(draft, "silu")
    draft.set("clip.vision.attention.layer_norm_epsilon", "f32", 1e-5)
    copy_uint(draft, "spatial_merge_size", "clip.vision.spatial_merge_size")
    copy_float(draft, "vision.rope.freq_base", "clip.rope.freq_base")
    _turn_heads(draft)
    width = source.dimension("token_embd.weight", 0)
    draft.add(
        PlannedTensor(_LINE_BREAK, (width,), "F32", Computed(Operation.ZEROS, arguments={"count": width}))
    )
    rename_all(draft, _TOWER_NAMES)
    promote_patches(draft)
    return draft.plan()


def _turn_heads(draft: Draft) -> None:
    """Rows of queries and keys in the order in which the engine turns them (T3)."""
    heads = draft.source.config.uint("vision.attention.head_count")
    for name, tensor in draft.tensors.items():
        if name.startswith("v.blk.") and name.endswith((".attn_q.weight", ".attn_k.weight")):
            if heads == 0 or len(tensor.shape) != 2 or tensor.shape[1] % (2 * heads):
                raise CannotTranslate(f'tensor "{name}" does not divide into {heads} heads')
            draft.compute(name, Operation.INTERLEAVE, kind=tensor.type, heads=heads)


FAMILIES = {"mistral3": (Family(fits=_is_private, text=_text, projector=_projector),)}
