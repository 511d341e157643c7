"""Olmo 3, which engines know as a later Olmo 2."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.take_name("olmo2")
    return draft.plan()


FAMILIES = {"olmo3": (Family(fits=lambda source: True, text=_text),)}
