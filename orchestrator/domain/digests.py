"""Digests: the names of blobs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.errors import BadRequest

_GRAMMAR = re.compile(r"sha256[:-]([0-9a-fA-F]{64})")


class InvalidDigest(BadRequest):
    """A text that is no digest."""

    def __init__(self, text: str) -> None:
        super().__init__("invalid digest format")
        self.text = text


@dataclass(frozen=True, slots=True)
class Digest:
    """The SHA-256 of a blob: 64 hex digits, in the case they were given."""

    hex: str

    def __post_init__(self) -> None:
        if not _GRAMMAR.fullmatch(f"sha256:{self.hex}"):
            raise InvalidDigest(self.hex)

    @classmethod
    def parse(cls, text: str) -> Digest:
        """Read ``sha256:<hex>`` or ``sha256-<hex>``. Raises ``InvalidDigest``."""
        if not (match := _GRAMMAR.fullmatch(text)):
            raise InvalidDigest(text)
        return cls(match[1])

    @property
    def file_name(self) -> str:
        """The blob's file name: ``sha256-<hex>``."""
        return f"sha256-{self.hex}"

    @property
    def short(self) -> str:
        """The first twelve digits, as progress lines show them."""
        return self.hex[:12]

    def __str__(self) -> str:
        return f"sha256:{self.hex}"
