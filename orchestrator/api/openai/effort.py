"""How much a model shall reason. Source: ``api-compat`` §2.4."""

from __future__ import annotations

from orchestrator.domain.quoting import quoted
from orchestrator.domain.think import Think
from orchestrator.errors import BadRequest
from orchestrator.wire.openai import Reasoning

_LEVELS = {
    "": None,
    "none": Think(False),
    "minimal": Think(True, "low"),
    "low": Think(True, "low"),
    "medium": Think(True, "medium"),
    "high": Think(True, "high"),
    "xhigh": Think(True, "max"),
    "ultra": Think(True, "max"),
    "max": Think(True, "max"),
}


class InvalidEffort(BadRequest):
    """An effort that nobody knows."""

    def __init__(self, effort: str) -> None:
        super().__init__(
            f'invalid reasoning value: {quoted(effort)} (must be "minimal", "low", "medium", "high", '
            '"xhigh", "ultra", "max", or "none")'
        )


def to_think(reasoning: Reasoning | None, effort: str = "") -> Think | None:
    """The setting; the object counts where there is one, even without an effort. Raises ``InvalidEffort``."""
    wanted = effort if reasoning is None else reasoning.effort
    try:
        return _LEVELS[wanted]
    except KeyError:
        raise InvalidEffort(wanted) from None
