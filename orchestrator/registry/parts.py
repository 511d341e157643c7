"""How a download is cut into parts, and the state of each as it is written down.

The form is Ollama's, so that each of the two goes on where the other stopped. Source: ``store`` §6.5.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.json_value import parse_json


@dataclass(slots=True)
class Part:
    """A stretch of a file. ``completed`` bytes from its offset on are on the disk."""

    number: int
    offset: int
    size: int
    completed: int = 0

    @property
    def position(self) -> int:
        """The first byte that is missing."""
        return self.offset + self.completed

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.offset + self.size

    @property
    def is_complete(self) -> bool:
        return self.completed >= self.size

    def advance(self, position: int) -> bool:
        """All before ``position`` is there now; whether that is news."""
        completed = min(position - self.offset, self.size)
        if completed <= self.completed:
            return False
        self.completed = completed
        return True

    def to_line(self) -> bytes:
        """The content of the state file."""
        members = {"N": self.number, "Offset": self.offset, "Size": self.size, "Completed": self.completed}
        return json.dumps(members, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, content: bytes) -> Part:
        """Read a state file. Raises ``ValueError``."""
        members: Any = parse_json(content)
        if not isinstance(members, dict):
            raise ValueError("not an object")
        values = [members.get(key, 0) for key in ("N", "Offset", "Size", "Completed")]
        if not all(type(value) is int and value >= 0 for value in values) or values[3] > values[2]:
            raise ValueError("not the state of a part")
        return cls(*values)


@dataclass(frozen=True, slots=True)
class PartSizes:
    """How large parts are: a share of the whole within bounds."""

    share: int = 16
    least: int = 100_000_000
    most: int = 1_000_000_000

    def cut(self, total: int) -> list[Part]:
        """The parts of a file of ``total`` bytes; the last one takes what is left."""
        size = max(min(total // self.share, self.most), self.least)
        offsets = range(0, total, size)
        return [Part(number, offset, min(size, total - offset)) for number, offset in enumerate(offsets)]


def fits(parts: Iterable[Part], total: int) -> bool:
    """Whether parts in order cover a file of ``total`` bytes without gap or overlap."""
    position = 0
    for part in parts:
        if part.offset != position:
            return False
        position = part.end
    return position == total


def contiguous(parts: Iterable[Part]) -> int:
    """How many bytes are there from the beginning of the file on, without a gap."""
    position = 0
    for part in parts:
        position = part.position
        if not part.is_complete:
            break
    return position
