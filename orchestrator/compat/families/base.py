"""What a family of published models gives: how to tell its files, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.compat.draft import Draft
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source

Translator = Callable[[Source], FilePlan]
"""Plans one file of a view. Raises ``CannotTranslate``."""


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one form. Of several that fit a file, the first counts."""

    fits: Callable[[Source], bool]
    """Whether a stock engine needs a view of this file."""
    text: Translator | None = None
    projector: Translator | None = None
    """For files with tensors of a vision tower, ``v.…``."""


def set_rope_sections(draft: Draft) -> None:
    """Take over the sections of a rope of several dimensions; engines want four of them."""
    if sections := draft.source.config.uints("rope.mrope_section"):
        draft.set(".rope.dimension_sections", "arr:i32", [*sections, 0][:4])
