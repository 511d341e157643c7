"""LFM2, whose last norm is named after the embeddings."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.vocabulary import set_pre_tokenizer

_OLD, _NEW = "output_norm.weight", "token_embd_norm.weight"


def _has_old_name(source: Source) -> bool:
    return _OLD in source.tensors and _NEW not in source.tensors


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.rename_each(lambda name: _NEW if name == _OLD else name)
    set_pre_tokenizer(draft, "lfm2")
    draft.set(".feed_forward_length", "u32", source.dimension("blk.0.ffn_gate.weight", 1))
    return draft.plan()


FAMILIES = {"lfm2": (Family(fits=_has_old_name, text=_text),)}
