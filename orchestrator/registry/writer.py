"""From the event loop to the disk: pieces are collected, and written by a thread while the next ones come."""

from __future__ import annotations

import asyncio
import time

from orchestrator.registry.partial import PartialFile

_BATCH_BYTES = 256 << 10
_LEAST_BATCH_BYTES = 128 << 10
_BATCH_S = 0.1
"""What a process that is killed may lose: so many bytes, or the bytes of so much time."""


def batch_bytes(writers: int) -> int:
    """The size of batches when there are so many writers: together they must not hold much in memory."""
    return max(_BATCH_BYTES * 2 // max(writers, 2), _LEAST_BATCH_BYTES)


class PieceWriter:
    """Writes pieces that follow one another. At any time one batch is being written and one is collected."""

    def __init__(self, partial: PartialFile, position: int, batch_bytes: int) -> None:
        self._partial = partial
        self._batch_bytes = batch_bytes
        self._position = position
        self._pieces: list[bytes] = []
        self._size = 0
        self._since_s = time.monotonic()
        self._writing: asyncio.Future[None] | None = None

    async def write(self, piece: bytes) -> bool:
        """Take a piece; whether a batch has gone. Raises ``StoreError``, also for earlier pieces."""
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)
        if self._size < self._batch_bytes and time.monotonic() - self._since_s < _BATCH_S:
            return False
        await self._written()
        self._begin()
        return True

    async def close(self) -> None:
        """Write what is left. Raises ``StoreError``."""
        await self._written()
        self._begin()
        await self._written()

    def _begin(self) -> None:
        self._since_s = time.monotonic()
        if not self._pieces:
            return
        work = asyncio.to_thread(self._partial.write, self._position, self._pieces)
        self._writing = asyncio.ensure_future(work)
        self._position += self._size
        self._pieces, self._size = [], 0

    async def _written(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                self._writing = writing  # it goes on; ``close`` waits for it
                raise
