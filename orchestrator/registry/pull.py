"""Pulling a model: its manifest, the blobs it lists, then the manifest into the store.

Until the last step the store has the model it had before, or none; what was fetched by then is kept.
Source: ``store`` §6.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.errors import StoreError
from orchestrator.process.cleanup import to_the_end
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.errors import BlobMismatch
from orchestrator.registry.fetch import BlobFetch
from orchestrator.registry.manifest import Blob, FetchedManifest, fetch_manifest
from orchestrator.registry.patience import BRIEF
from orchestrator.registry.progress import (
    INTERVAL_S,
    PULLING_MANIFEST,
    REMOVING,
    SUCCESS,
    VERIFYING,
    WRITING_MANIFEST,
    not_removed,
    pulling,
)
from orchestrator.registry.rate import RateLimit
from orchestrator.registry.registries import Registries
from orchestrator.registry.shared import SharedTransfers
from orchestrator.registry.transfer import BlobTransfer, TransferSettings
from orchestrator.store.models import ModelStore


class Puller:
    """All pulls of one daemon. They share downloads, connections and the limit on speed."""

    def __init__(
        self,
        store: ModelStore,
        registries: Registries,
        *,
        settings: TransferSettings | None = None,
        bytes_per_second: int = 0,
        streams: int = 4,
    ) -> None:
        """``bytes_per_second`` is ``ORCH_PULL_RATE``, ``streams`` ``OLLAMA_MAX_TRANSFER_STREAMS``."""
        self._store = store
        self._registries = registries
        self._settings = settings or TransferSettings()
        self._limit = RateLimit(bytes_per_second)
        self._streams = max(streams, 1)
        self._transfers = SharedTransfers()

    def stop(self) -> None:
        """End all downloads; those who wait for them get ``PullStopped``. What was fetched is kept."""
        self._transfers.stop()

    async def pull(self, name: ModelName, *, insecure: bool = False) -> AsyncGenerator[Progress, None]:
        """Fetch a model; the last step is told when it is in the store.

        To be closed by whoever leaves early: downloads that nobody else waits for end then, and what they
        have fetched is kept. Raises ``InsecureName``, ``RegistryError``, ``StoreError``.
        """
        known = await asyncio.to_thread(self._store.manifests.canonical, name)
        name = replace(known, scheme=name.scheme)
        async with self._registries.client(name, insecure=insecure) as client:
            yield PULLING_MANIFEST
            fetched = await fetch_manifest(client, BRIEF)
            async with self._store.held([blob.digest for blob in fetched.blobs]):
                async with aclosing(self._fetched(client, fetched)) as steps:
                    async for step in steps:
                        yield step
                yield WRITING_MANIFEST
                replaced = await to_the_end(self._store.install(name, fetched.content))
        if replaced:
            yield REMOVING
            try:
                await self._store.release(replaced)
            except StoreError as error:
                yield not_removed(error)
        yield SUCCESS

    async def _fetched(
        self, client: RegistryClient, fetched: FetchedManifest
    ) -> AsyncGenerator[Progress, None]:
        """Have all blobs in the store. They are verified on the way; that is told where it is expected."""
        make = partial(self._transfer, client, self._settings)
        fetch = BlobFetch(self._store.layout, fetched.blobs, self._transfers, make, streams=self._streams)
        try:
            async with aclosing(fetch.steps()) as steps:
                async for step in steps:
                    yield step
        except BlobMismatch:
            yield VERIFYING
            raise
        yield VERIFYING

    async def refetch(
        self, name: ModelName, blob: Blob, *, insecure: bool = False
    ) -> AsyncGenerator[Progress, None]:
        """Fetch one blob of a model, and replace the file of its name, if there is one, when all is well.

        To be closed like ``pull``. Raises ``InsecureName``, ``RegistryError``, ``StoreError``.
        """
        settings = replace(self._settings, patience=BRIEF)
        async with self._registries.client(name, insecure=insecure) as client:
            make = partial(self._transfer, client, settings, blob)
            async with self._transfers.joined(blob.digest, make) as shared:
                while not shared.task.done():
                    done = shared.transfer.completed_bytes
                    yield pulling(blob.digest, total_bytes=blob.size_bytes, completed_bytes=done)
                    await asyncio.wait([shared.task], timeout=INTERVAL_S)
                shared.task.result()

    def _transfer(self, client: RegistryClient, settings: TransferSettings, blob: Blob) -> BlobTransfer:
        """The download of a blob, to be run."""
        layout = self._store.layout
        return BlobTransfer(client, layout, blob.digest, blob.size_bytes, settings, self._limit)
