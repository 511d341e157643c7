"""How a blob is cut into the parts of an upload. Source: ``store`` §8."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.digests import Digest

LEAST_PART_BYTES, MOST_PART_BYTES = 100_000_000, 1_000_000_000
PARTS = 16
"""How many parts there are if none would be too small, and how many may be under way at once."""


@dataclass(frozen=True, slots=True)
class LocalBlob:
    """A blob of the store that is to be sent."""

    digest: Digest
    path: Path
    size_bytes: int
    origin: str = ""
    """A model of the same registry, as ``namespace/model``, that the blob may be there from."""


@dataclass(frozen=True, slots=True)
class UploadPart:
    """A stretch of a blob, sent in one request."""

    index: int
    offset: int
    size_bytes: int


def parts_from(offset: int, size_bytes: int, *, least_bytes: int = LEAST_PART_BYTES) -> list[UploadPart]:
    """The parts of what is behind ``offset``."""
    each = max(min(size_bytes // PARTS, MOST_PART_BYTES), least_bytes)
    starts = range(offset, size_bytes, each)
    return [UploadPart(index, at, min(each, size_bytes - at)) for index, at in enumerate(starts)]
