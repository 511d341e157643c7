"""The models of one store, for the event loop: open, list, copy, delete, and put in place of the old.

Every method is one plain synchronous piece of work in a thread; pieces that change the store follow one
another, so that what one still needs is not removed by the other. Source: ``store`` §5, §9-11.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.errors import StoreError
from orchestrator.store.blobs import BlobStore
from orchestrator.store.errors import CorruptManifest, ModelNotFound
from orchestrator.store.layout import StoreLayout, make_directory
from orchestrator.store.manifests import ManifestStore, StoredManifest
from orchestrator.store.model import ListedModel, Model
from orchestrator.store.prune import prune_unused, remove_if_unused
from orchestrator.store.reading import ModelReader
from orchestrator.store.wire import Manifest

__all__ = ["ListedModel", "Model", "ModelStore"]

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class ModelStore:
    """A store as the daemon sees it. Names are found in any case, and kept in the one they were made with."""

    def __init__(self, layout: StoreLayout, *, go_template: bool | None = None, prunes: bool = True) -> None:
        """``go_template`` is ``OLLAMA_GO_TEMPLATE``; ``prunes`` is false under ``OLLAMA_NOPRUNE``."""
        self.layout = layout
        self.blobs = BlobStore(layout)
        self.manifests = ManifestStore(layout)
        self.reader = ModelReader(self.blobs, go_template=go_template)
        self._prunes = prunes
        self._changing = threading.Lock()

    async def start(self) -> None:
        """Make the directories, bring an old store up to date, remove what nothing uses.

        Raises ``StoreError``.
        """
        await self._in_thread(self._start)

    async def open(self, name: ModelName) -> Model:
        """Raises ``ModelNotFound``, ``CorruptManifest`` or ``DamagedModel``."""
        return await self._in_thread(self._open, name)

    async def list(self) -> Sequence[ListedModel]:
        """The models that can be read, newest first by whole seconds; others are logged."""
        return await self._in_thread(self._list)

    async def copy(self, source: ModelName, destination: ModelName) -> None:
        """Give a model a second name. Raises ``ModelNotFound``, ``StoreError``."""
        await self._in_thread(self._copy, source, destination)

    async def delete(self, name: ModelName) -> None:
        """Remove a model, readable or not, and what only it used.

        Raises ``ModelNotFound``, ``StoreError``.
        """
        await self._in_thread(self._delete, name)

    async def replace(self, name: ModelName, manifest: Manifest) -> None:
        """Write a manifest, and remove what only the one before it used.

        Raises ``StoreError``: also when one of its blobs is no longer there, and then nothing has changed.
        """
        await self._in_thread(self.replace_now, name, manifest)

    async def release(self, digests: Iterable[str]) -> None:
        """Remove those blobs that no model uses. Raises ``StoreError``."""
        await self._in_thread(self.release_now, digests)

    async def _in_thread(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(work, *args, **kwargs)

    def _start(self) -> None:
        make_directory(self.layout.manifests)
        make_directory(self.layout.blobs)
        self.blobs.rename_legacy()
        if self._prunes:
            prune_unused(self.layout, self.manifests, now=datetime.now(UTC))
            make_directory(self.layout.manifests)

    def _open(self, name: ModelName) -> Model:
        return self.reader.model(self.manifests.read(self.manifests.canonical(name)))

    def _list(self) -> Sequence[ListedModel]:
        entries = []
        for stored in self.manifests.list():
            try:
                entries.append(self.reader.listed(stored))
            except StoreError as error:
                logger.warning("model skipped", extra={"model": stored.name.short, "reason": str(error)})
        return sorted(entries, key=lambda entry: entry.modified_ns // 1_000_000_000, reverse=True)

    def _copy(self, source: ModelName, destination: ModelName) -> None:
        with self._changing:
            source, destination = self.manifests.canonical(source), self.manifests.canonical(destination)
            if source == destination:
                self.manifests.read(source)
                return
            self.manifests.copy(source, destination)

    def _delete(self, name: ModelName) -> None:
        with self._changing:
            name = self.manifests.canonical(name)
            old = self._readable(name)
            self.manifests.delete(name)
            if old is not None:
                self._release_locked(old.manifest)

    def replace_now(self, name: ModelName, manifest: Manifest) -> None:
        """``replace``, for work that is in a thread already."""
        with self._changing:
            for part in manifest.parts:
                self.blobs.touch(Digest.parse(part.digest))
            name = self.manifests.canonical(name)
            old = self._readable(name)
            self.manifests.write(name, manifest)
            if old is not None and self._prunes:
                self._release_locked(old.manifest)

    def release_now(self, digests: Iterable[str]) -> None:
        """``release``, for work that is in a thread already."""
        with self._changing:
            remove_if_unused(self.layout, self.manifests, digests)

    def _release_locked(self, manifest: Manifest) -> None:
        """The change itself is done; that its remains cannot be removed is no failure."""
        try:
            remove_if_unused(self.layout, self.manifests, (part.digest for part in manifest.parts))
        except StoreError as error:
            logger.warning("unused blobs not removed", extra={"reason": str(error)})

    def _readable(self, name: ModelName) -> StoredManifest | None:
        try:
            return self.manifests.read(name)
        except (ModelNotFound, CorruptManifest):
            return None
