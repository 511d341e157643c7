"""One step of a long piece of work, as clients are told of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being done. The bytes count what ``digest`` names; 0 is not known."""

    status: str
    digest: str = ""
    total_bytes: int = 0
    completed_bytes: int = 0
