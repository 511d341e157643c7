"""Downloads that are shared: who wants a blob that is being fetched already joins in.

A download has no other parents than those who wait for it. The last one to leave ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from orchestrator.domain.digests import Digest
from orchestrator.process.cleanup import to_the_end
from orchestrator.registry.errors import PullStopped
from orchestrator.registry.transfer import BlobTransfer


class SharedTransfer:
    """A download on its way, and how many wait for it."""

    def __init__(self, transfer: BlobTransfer) -> None:
        self.transfer = transfer
        self.task = asyncio.ensure_future(transfer.run())
        self.waiting = 1

    def leave(self) -> bool:
        """One less waits; whether that was the last one."""
        self.waiting -= 1
        return not self.waiting

    def result(self) -> None:
        """Raises what the download ended with, if it did not succeed."""
        if self.task.cancelled():
            raise PullStopped
        self.task.result()


class SharedTransfers:
    """The downloads on their way, by digest."""

    def __init__(self) -> None:
        self._running: dict[str, SharedTransfer] = {}

    @asynccontextmanager
    async def joined(self, digest: Digest, make: Callable[[], BlobTransfer]) -> AsyncIterator[SharedTransfer]:
        """The download of a blob, begun with ``make`` if there is none. While the block runs, it goes on."""
        key = digest.file_name.lower()
        while (found := self._running.get(key)) is not None and not found.waiting:
            await asyncio.wait([found.task])  # the last one has just left
        if found is None or found.task.done():
            found = self._running[key] = SharedTransfer(make())
        else:
            found.waiting += 1
        try:
            yield found
        finally:
            if found.leave():
                await to_the_end(self._end(key, found))

    def stop(self) -> None:
        """End all downloads, whoever waits for them."""
        for shared in self._running.values():
            shared.task.cancel()

    async def _end(self, key: str, ended: SharedTransfer) -> None:
        ended.task.cancel()
        await asyncio.wait([ended.task])
        if self._running.get(key) is ended:
            del self._running[key]
        if not ended.task.cancelled():
            ended.task.exception()  # has been told to those who waited, if any did
