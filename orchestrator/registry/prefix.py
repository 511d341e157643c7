"""SHA-256 of a file that is written in several places at once: it follows the part without gaps."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence

_READ_BYTES = 1 << 20


class PrefixHash:
    """The hash of the first ``position`` bytes. Threads may use it at the same time."""

    def __init__(self) -> None:
        self.position = 0
        self._hash = hashlib.sha256()
        self._lock = threading.Lock()

    def feed(self, position: int, pieces: Sequence[bytes]) -> None:
        """Take bytes while they are at hand, if they are the next ones; else ``read`` will fetch them."""
        with self._lock:
            if position != self.position:
                return
            for piece in pieces:
                self._hash.update(piece)
                self.position += len(piece)

    def read(self, descriptor: int, until: int) -> bool:
        """Take a stretch of what was written out of order; whether all before ``until`` is hashed now.

        Raises ``OSError``.
        """
        with self._lock:
            wanted = min(until - self.position, _READ_BYTES)
            if wanted > 0:
                piece = os.pread(descriptor, wanted, self.position)
                if not piece:
                    raise OSError("file has become shorter")
                self._hash.update(piece)
                self.position += len(piece)
            return self.position >= until

    def hex(self) -> str:
        return self._hash.hexdigest()
