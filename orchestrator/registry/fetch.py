"""The blobs of one pull: which are there already, and downloads of the others, several small ones at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack

from orchestrator.domain.progress import Progress
from orchestrator.registry.manifest import Blob
from orchestrator.registry.partial import missing_bytes
from orchestrator.registry.progress import INTERVAL_S, pulling
from orchestrator.registry.shared import SharedTransfer, SharedTransfers
from orchestrator.registry.transfer import BlobTransfer
from orchestrator.store.errors import check_room
from orchestrator.store.layout import StoreLayout, make_directory

_LARGE_BYTES = 64 << 20
"""A blob beyond this has connections enough of its own: one of them at a time."""

_TINY_BYTES = 1 << 20
_TINY_PAUSE_S = 1.0
"""Nobody waits for a small file; it is told of only if it takes long nevertheless."""


class BlobFetch:
    """The fetching of some blobs into a store."""

    def __init__(
        self,
        layout: StoreLayout,
        blobs: Sequence[Blob],
        transfers: SharedTransfers,
        make: Callable[[Blob], BlobTransfer],
        *,
        streams: int,
    ) -> None:
        """``make`` prepares the download of a blob; ``streams`` is how many blobs are fetched at one time."""
        self._layout = layout
        self._blobs = blobs
        self._transfers = transfers
        self._make = make
        self._streams = streams
        self._holds: list[_Hold] = []

    async def steps(self) -> AsyncGenerator[Progress, None]:
        """How far each blob is; at the end all are in the store. Raises ``RegistryError``, ``StoreError``."""
        await asyncio.to_thread(self._check_space)
        waiting = deque(self._blobs)
        try:
            while waiting or self._holds:
                while waiting and self._may_begin(waiting[0]):
                    if (present := await self._begin(waiting.popleft())) is not None:
                        yield present
                for step in await self._advanced():
                    yield step
        finally:
            while self._holds:
                await self._holds.pop().leave()

    def _may_begin(self, blob: Blob) -> bool:
        if blob.size_bytes > _LARGE_BYTES and any(hold.is_large for hold in self._holds):
            return False
        return len(self._holds) < self._streams

    async def _begin(self, blob: Blob) -> Progress | None:
        """Join or begin the download of a blob; what is to be told of one that is in the store already."""
        size = await asyncio.to_thread(present_bytes, self._layout, blob)
        if size is not None:
            return pulling(blob.digest, total_bytes=size, completed_bytes=size)
        async with AsyncExitStack() as stack:
            joined = self._transfers.joined(blob.digest, lambda: self._make(blob))
            shared = await stack.enter_async_context(joined)
            self._holds.append(_Hold(shared, stack.pop_all(), is_large=blob.size_bytes > _LARGE_BYTES))
        return None

    async def _advanced(self) -> list[Progress]:
        """What is to be told, after a while or when a download has ended. Raises what it ended with."""
        if not self._holds:
            return []
        await asyncio.wait(
            [hold.shared.task for hold in self._holds],
            timeout=INTERVAL_S,
            return_when=asyncio.FIRST_COMPLETED,
        )
        steps = [step for hold in self._holds if (step := hold.progress()) is not None]
        for hold in [hold for hold in self._holds if hold.shared.task.done()]:
            self._holds.remove(hold)
            await hold.leave()
            hold.shared.result()
        return steps

    def _check_space(self) -> None:
        """Raises ``DiskFull`` when there is no room for all that is to be fetched."""
        needed = sum(
            missing_bytes(self._layout, blob.digest, blob.size_bytes)
            for blob in self._blobs
            if present_bytes(self._layout, blob) is None
        )
        make_directory(self._layout.blobs)
        check_room(self._layout.blobs / "new", needed)


class _Hold:
    """A pull's hold on one download."""

    def __init__(self, shared: SharedTransfer, stack: AsyncExitStack, *, is_large: bool) -> None:
        self.shared = shared
        self.is_large = is_large
        self._stack = stack
        self._told_at_s = time.monotonic()
        self._has_told = False

    def progress(self) -> Progress | None:
        """How far it is, if it is time to tell. A download that ends at once is never told of."""
        transfer, now_s = self.shared.transfer, time.monotonic()
        is_tiny = transfer.total_bytes < _TINY_BYTES and not self._has_told
        pause_s = _TINY_PAUSE_S if is_tiny else INTERVAL_S
        is_due = self._has_told if self.shared.task.done() else now_s - self._told_at_s >= pause_s
        if not is_due or not transfer.total_bytes:
            return None
        self._told_at_s, self._has_told = now_s, True
        return pulling(
            transfer.digest, total_bytes=transfer.total_bytes, completed_bytes=transfer.completed_bytes
        )

    async def leave(self) -> None:
        """Let go: if nobody else holds the download, it ends."""
        await self._stack.aclose()


def present_bytes(layout: StoreLayout, blob: Blob) -> int | None:
    """The size of a blob that is in the store; ``None`` if it is not, or is not as long as it should be."""
    try:
        size = layout.blob(blob.digest).stat().st_size
    except OSError:
        return None
    return size if blob.size_bytes in (0, size) else None
