"""Laguna: keys of its sliding windows and the name of its attention gate."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source

_KEYS = {"rope.swa.dimension_count": "rope.dimension_count_swa", "rope.swa.freq_base": "rope.freq_base_swa"}


def _is_private(source: Source) -> bool:
    return any(map(source.config.has, _KEYS)) or "blk.0.attn_g.weight" in source.tensors


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    for old, new in _KEYS.items():
        draft.rename_key(f".{old}", f".{new}")
    draft.rename(".attn_g.weight", ".attn_gate.weight")
    return draft.plan()


FAMILIES = {"laguna": (Family(fits=_is_private, text=_text),)}
