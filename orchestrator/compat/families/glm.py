"""GLM OCR, and GLM 4 MoE lite, which engines know as a DeepSeek 2."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family, set_rope_sections
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.tower import (
    FRAME_NAMES,
    activate,
    copy_float,
    copy_uint,
    promote_patches,
    rename_all,
    stacked,
    tower,
)
from orchestrator.compat.vocabulary import ends, set_pre_tokenizer


def _ocr_text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.take_name("glm4")
    set_rope_sections(draft)
    draft.set_if_absent(".rope.dimension_count", "u32", source.config.uint("attention.key_length"))
    set_pre_tokenizer(draft, "chatglm-bpe")
    draft.hide("v.", "mm.")
    draft.rename(".attn_out.", ".attn_output.")
    draft.rename(".post_attn_norm.", ".post_attention_norm.")
    draft.rename(".post_ffn_norm.", ".post_ffw_norm.")
    for block in source.block_numbers():
        gate, up = (f"blk.{block}.ffn_{part}.weight" for part in ("gate", "up"))
        if draft.get(gate) and draft.get(up):
            draft.replace([gate, up], stacked(draft, up, [gate, up]))
    return draft.plan()


def _ocr_projector(source: Source) -> FilePlan:
    draft = tower(source, "glm4v")
    activate(draft, "silu")
    copy_uint(draft, "vision.intermediate_size", "clip.vision.feed_forward_length")
    epsilon = "clip.vision.attention.layer_norm_epsilon"
    copy_float(draft, "vision.attention.layer_norm_rms_epsilon", epsilon)
    copy_uint(draft, "vision.out_hidden_size", "clip.vision.projection_dim")
    rename_all(draft, FRAME_NAMES)
    promote_patches(draft)
    return draft.plan()


def _lite_text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.take_name("deepseek2")
    config = source.config
    rank, head = config.uint("attention.kv_lora_rank"), config.uint("attention.key_length")
    draft.set(".attention.head_count_kv", "u32", 1)
    draft.set(".attention.key_length", "u32", rank + config.uint("rope.dimension_count"))
    draft.set(".attention.value_length", "u32", rank)
    draft.set(".attention.key_length_mla", "u32", head)
    draft.set(".attention.value_length_mla", "u32", head)
    draft.set_if_absent(".expert_group_count", "u32", 1)
    draft.set_if_absent(".expert_group_used_count", "u32", 1)
    set_pre_tokenizer(draft, "glm4")
    for name, token in zip(("eot", "eom"), list(ends(draft))[1:3], strict=False):
        draft.set(f"tokenizer.ggml.{name}_token_id", "u32", token)
    return draft.plan()


FAMILIES = {
    "glmocr": (Family(fits=lambda source: True, text=_ocr_text, projector=_ocr_projector),),
    "glm4moelite": (Family(fits=lambda source: True, text=_lite_text),),
}
