"""What clients are told while a model travels: the words of each step, and how often.

Source: ``store`` §6.1, §8.
"""

from __future__ import annotations

from orchestrator.domain.digests import Digest
from orchestrator.domain.progress import Progress

__all__ = ["INTERVAL_S", "REMOVING", "SUCCESS", "VERIFYING", "WRITING_MANIFEST", "Progress", "pulling"]

INTERVAL_S = 0.060
"""Between two events of one transfer."""

PULLING_MANIFEST = Progress("pulling manifest")
VERIFYING = Progress("verifying sha256 digest")
WRITING_MANIFEST = Progress("writing manifest")
REMOVING = Progress("removing unused layers")
SUCCESS = Progress("success")


def pulling(digest: Digest, *, total_bytes: int, completed_bytes: int) -> Progress:
    """How far a blob has come."""
    return Progress(f"pulling {digest.short}", str(digest), total_bytes, completed_bytes)


def not_removed(reason: Exception) -> Progress:
    """The model is complete; what it replaced could not be cleared away."""
    return Progress(f"couldn't remove unused layers: {reason}")
