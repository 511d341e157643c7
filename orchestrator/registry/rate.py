"""A limit on bytes per second, shared by all transfers."""

from __future__ import annotations

import asyncio
import time

READ_BYTES = 128 << 10
"""The most that is taken from a connection at one time."""

_STEPS_PER_SECOND = 20


class RateLimit:
    """Lets ``bytes_per_second`` pass; 0 is no limit."""

    def __init__(self, bytes_per_second: int = 0) -> None:
        self._rate = bytes_per_second
        self._free_at = 0.0
        """When all that was let pass would have passed at the limit."""

    @property
    def is_set(self) -> bool:
        return self._rate > 0

    @property
    def read_bytes(self) -> int:
        """How much to take at one time, so that a slow transfer flows rather than jumps."""
        if not self._rate:
            return READ_BYTES
        return max(min(self._rate // _STEPS_PER_SECOND, READ_BYTES), 1)

    async def passed(self, size_bytes: int) -> None:
        """Wait for as long as bytes that were just taken should have taken. Only for a limit that is set."""
        now = time.monotonic()
        self._free_at = max(self._free_at, now) + size_bytes / self._rate
        await asyncio.sleep(self._free_at - now)
