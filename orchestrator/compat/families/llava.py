"""Separate projectors from before there was more than one kind of them."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source

_KINDS = ("clip.projector_type", "clip.vision.projector_type")


def _is_nameless(source: Source) -> bool:
    metadata = source.header.metadata
    return metadata.get("clip.has_vision_encoder") is True and not any(kind in metadata for kind in _KINDS)


def _projector(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.set(_KINDS[0], "str", "mlp")
    return draft.plan()


FAMILIES = {"clip": (Family(fits=_is_nameless, projector=_projector),)}
