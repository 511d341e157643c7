"""Who may use the server: names, each with the digest of a key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


class InvalidApiKeys(ValueError):
    """Entries that cannot be read; the text never shows a key."""


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """The keys that open the server. A key is found by its SHA-256 digest, in a time that tells nothing."""

    owners: Mapping[bytes, str]
    """Name by digest. One name may have several keys, so that an old one can be replaced at leisure."""

    @classmethod
    def parse(cls, entries: Iterable[str]) -> ApiKeys:
        """Read entries of the form ``NAME KEY`` or ``KEY``; empty ones and comments (``#``) do not count.

        The owner of a key without a name is called by the number of its entry. Raises ``InvalidApiKeys``.
        """
        owners: dict[bytes, str] = {}
        for number, entry in enumerate(entries, 1):
            words = entry.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) > 2:
                raise InvalidApiKeys(f"entry {number} has {len(words)} words; it takes a name and a key")
            if not words[-1].isascii():
                raise InvalidApiKeys(f"entry {number} has a key with letters that headers cannot carry")
            digest = _digest(words[-1])
            name = words[0] if len(words) == 2 else f"key-{number}"
            if owners.setdefault(digest, name) != name:
                raise InvalidApiKeys(f"entry {number} repeats the key of {owners[digest]}")
        return cls(owners)

    def owner(self, key: str) -> str | None:
        """Whose key it is; ``None`` for a key of nobody."""
        return self.owners.get(_digest(key))

    def __or__(self, other: ApiKeys) -> ApiKeys:
        return ApiKeys({**self.owners, **other.owners})


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()
