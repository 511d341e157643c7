"""The download of one blob: from several places of the file at once, into the store.

Bytes go from the event loop to a thread that writes and hashes them, while the next ones come in. What fails
is tried again from where it stopped; what has been written stays for the next time, however this ends.
Source: ``store`` §6.5-6.8.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from orchestrator.domain.digests import Digest
from orchestrator.errors import OrchestratorError, StoreError
from orchestrator.process.cleanup import to_the_end
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.errors import (
    BlobMismatch,
    Interrupted,
    RegistryError,
    RegistryRefused,
    Unreachable,
)
from orchestrator.registry.partial import PartialFile
from orchestrator.registry.parts import Part, PartSizes
from orchestrator.registry.patience import Attempts, Patience
from orchestrator.registry.ramp import INTERVAL_S, Ramp
from orchestrator.registry.rate import RateLimit
from orchestrator.registry.source import BlobSource, Body, RangesIgnored
from orchestrator.registry.writer import PieceWriter, batch_bytes
from orchestrator.store.layout import StoreLayout

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """How downloads are made."""

    sizes: PartSizes = PartSizes()
    patience: Patience = Patience()
    stall_s: float = 30.0
    """A connection that brings nothing for so long is given up for another one."""
    connections: int = 16
    """The most for one blob."""


class BlobTransfer:
    """One download, to be run once."""

    def __init__(
        self,
        client: RegistryClient,
        layout: StoreLayout,
        digest: Digest,
        total_bytes: int,
        settings: TransferSettings,
        limit: RateLimit,
    ) -> None:
        """``total_bytes`` is the size in the manifest; 0 is not known."""
        self.digest = digest
        self.total_bytes = total_bytes
        self._layout = layout
        self._settings = settings
        self._limit = limit
        self._source = BlobSource(client, digest, stall_s=settings.stall_s)
        self._partial: PartialFile | None = None

    @property
    def completed_bytes(self) -> int:
        """How much is on the disk."""
        return self._partial.completed_bytes if self._partial is not None else 0

    async def run(self) -> None:
        """Fetch the blob. When this returns, it is in the store, and it is what its digest says.

        Raises ``RegistryError``, ``StoreError``.
        """
        self.total_bytes = self.total_bytes or await self._source.size()
        partial = self._new_partial()
        try:
            await self._fetch_into(partial)
        except BlobMismatch as error:
            if not partial.is_resumed:
                raise
            logger.warning("what an earlier download has left is damaged, starting anew: %s", error)
            await self._fetch_into(self._new_partial())

    def _new_partial(self) -> PartialFile:
        return PartialFile(self._layout, self.digest, self.total_bytes, self._settings.sizes)

    async def _fetch_into(self, partial: PartialFile) -> None:
        try:
            await to_the_end(asyncio.to_thread(partial.open))
            self._partial = partial
            await _Fetching(partial, self._source, self._settings, self._limit).run()
            while not await to_the_end(asyncio.to_thread(partial.catch_up)):
                pass
            await to_the_end(asyncio.to_thread(partial.commit))
        finally:
            await to_the_end(asyncio.to_thread(partial.keep))


class _Fetching:
    """The fetching of what is missing of a file."""

    def __init__(
        self, partial: PartialFile, source: BlobSource, settings: TransferSettings, limit: RateLimit
    ) -> None:
        self._partial = partial
        self._source = source
        self._settings = settings
        self._limit = limit
        self._waiting = deque(_Job(part, settings.patience) for part in partial.parts if not part.is_complete)
        self._ramp = Ramp(min(settings.connections, len(self._waiting)))
        self._active = 0
        self._received_bytes = 0
        self._worker_ended = asyncio.Event()
        self._is_behind = asyncio.Event()

    async def run(self) -> None:
        """Raises ``RegistryError``, ``StoreError``."""
        try:
            await self._beside_hashing(self._fetch_parts)
        except RangesIgnored:
            logger.info("server ignores ranges", extra={"digest": str(self._partial.digest)})
            await self._beside_hashing(self._fetch_whole)

    async def _beside_hashing(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                hashing = group.create_task(self._hash())
                await work()
                hashing.cancel()
        except BaseExceptionGroup as errors:
            raise _most_telling(errors) from None

    async def _fetch_parts(self) -> None:
        async with asyncio.TaskGroup() as group:
            await self._employ(group)

    async def _employ(self, group: asyncio.TaskGroup) -> None:
        """Have as many workers as are worth it, until there is no work left."""
        while self._waiting or self._active:
            while self._waiting and self._active < self._ramp.wanted:
                self._active += 1
                group.create_task(self._work(self._waiting.popleft()))
            before = self._received_bytes
            try:
                async with asyncio.timeout(INTERVAL_S):
                    await self._worker_ended.wait()
                self._worker_ended.clear()
            except TimeoutError:
                self._ramp.measured(self._received_bytes - before)

    async def _work(self, job: _Job) -> None:
        """Fetch one part after the other over one connection."""
        try:
            while await self._fetch_part(job) and self._waiting and self._active <= self._ramp.wanted:
                job = self._waiting.popleft()
        finally:
            self._active -= 1
            self._worker_ended.set()

    async def _fetch_part(self, job: _Job) -> bool:
        """Fetch the rest of a part; false if the server wants fewer connections, and the part waits again."""
        part = job.part
        while not part.is_complete:
            try:
                async with self._source.open(part.position, part.end, self._partial.total_bytes) as body:
                    if body.end > part.end:  # all comes, and nobody else needs to ask
                        self._ramp.stop()
                    await self._receive(body, part.position)
                if body.is_short:
                    raise Interrupted("the server sends next to nothing of what is asked for")
            except RangesIgnored:
                raise
            except RegistryError as error:
                if self._active > 1 and isinstance(error, RegistryRefused | Unreachable) and error.temporary:
                    self._ramp.refused(self._active)
                    self._waiting.appendleft(job)
                    return False
                await self._recover(error, job.attempts, part.completed)
        return True

    async def _fetch_whole(self) -> None:
        """Fetch from the beginning, as the server will have it, and pass over what is there already."""
        attempts = Attempts(self._settings.patience, self._partial.contiguous_bytes)
        while (first := self._partial.contiguous_bytes) < self._partial.total_bytes:
            try:
                async with self._source.whole(self._partial.total_bytes) as body:
                    await self._receive(body, first)
            except RegistryError as error:
                await self._recover(error, attempts, self._partial.contiguous_bytes)

    async def _receive(self, body: Body, first: int) -> None:
        """Take a body in, from the byte ``first`` on. What has come is written, however this ends."""
        writer = PieceWriter(self._partial, first, batch_bytes(self._active))
        try:
            while piece := await body.read(self._limit.read_bytes):
                self._received_bytes += len(piece)
                if self._limit.is_set:
                    await self._limit.passed(len(piece))
                    body.resume()
                if (known := first - (body.position - len(piece))) > 0:
                    piece = piece[known:]
                if await writer.write(piece) and self._partial.is_behind:
                    self._is_behind.set()
        finally:
            await to_the_end(writer.close())

    async def _recover(self, error: RegistryError, attempts: Attempts, reached_bytes: int) -> None:
        """Wait before the next attempt. Raises ``RegistryError`` when there is none."""
        delay_s = attempts.failed(error, reached_bytes)
        logger.info("download interrupted: %s", error, extra={"digest": self._partial.digest.short})
        self._source.forget()
        await asyncio.sleep(delay_s)

    async def _hash(self) -> None:
        """Follow with the hash what comes out of order."""
        while True:
            while self._partial.is_behind:
                await to_the_end(asyncio.to_thread(self._partial.catch_up))
            self._is_behind.clear()
            await self._is_behind.wait()


class _Job:
    """A part to be fetched, with the failures so far."""

    def __init__(self, part: Part, patience: Patience) -> None:
        self.part = part
        self.attempts = Attempts(patience, part.completed)


def _most_telling(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one to report: trouble with the disk explains all others."""
    leaves = list(_leaves(errors))
    for kind in (StoreError, RangesIgnored, OrchestratorError):
        for leaf in leaves:
            if isinstance(leaf, kind):
                return leaf
    return leaves[0]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
