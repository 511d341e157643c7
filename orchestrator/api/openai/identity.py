"""What all records of one reply have in common."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Any

FINGERPRINT = "fp_ollama"

_IDS = 999


@dataclass(frozen=True, slots=True)
class Identity:
    """Of one reply to a request for text."""

    id: str
    created: int
    model: str
    """The name as the client wrote it."""

    @classmethod
    def new(cls, prefix: str, model: str) -> Identity:
        """A fresh one."""
        return cls(f"{prefix}-{secrets.randbelow(_IDS)}", int(time.time()), model)

    def members(self, kind: str) -> dict[str, Any]:
        """The first members of a record."""
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
        }
