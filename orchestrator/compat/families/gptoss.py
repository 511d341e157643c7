"""gpt-oss, spelled without its dash."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.vocabulary import set_pre_tokenizer


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.take_name("gpt-oss")
    if not draft.has(".expert_feed_forward_length"):
        width = source.dimension("blk.0.ffn_gate_exps.weight", 1)
        draft.set(".expert_feed_forward_length", "u32", width)
    draft.set_if_absent(".rope.scaling.type", "str", "yarn")
    set_pre_tokenizer(draft, "gpt-4o")
    draft.rename(".attn_out.", ".attn_output.")
    draft.rename_each(lambda name: f"{name}.weight" if name.endswith(".attn_sinks") else name)
    draft.rename(".ffn_norm.", ".post_attention_norm.")
    return draft.plan()


FAMILIES = {"gptoss": (Family(fits=lambda source: True, text=_text),)}
