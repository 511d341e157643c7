"""The models of one store, for the event loop: open, list, copy, delete, and put in place of the old.

Every method is one plain synchronous piece of work in a thread; pieces that change the store follow one
another, so that what one still needs is not removed by the other. Source: ``store`` §5, §9-11.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.errors import StoreError
from orchestrator.process.cleanup import to_the_end
from orchestrator.store.blobs import BlobStore
from orchestrator.store.canonical import canonical_json
from orchestrator.store.errors import CorruptManifest, ModelNotFound
from orchestrator.store.kept import Kept
from orchestrator.store.layout import StoreLayout, make_directory
from orchestrator.store.manifests import ManifestStore, StoredManifest, parsed_manifest
from orchestrator.store.prune import (
    PrunePlan,
    blob_names,
    carry_out,
    held_name,
    plan_prune,
    prune_unused,
    remove_if_unused,
)

if TYPE_CHECKING:
    from orchestrator.store.model import ListedModel, Model
    from orchestrator.store.reading import ModelReader
    from orchestrator.store.wire import Manifest

logger = logging.getLogger(__name__)

Stamp = tuple[int, int, int]
"""What tells one state of a file from another: time of change, size and inode."""

COARSE_NS = 2_000_000_000
FINE_NS = 100_000_000
"""The resolution of file times, at worst: of file systems that keep whole seconds, and of all others. A file
that changed so short a time ago may change again without showing it."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A model as it was read from its manifest when that had this stamp."""

    model: Model
    path: str
    stamp: Stamp


class ModelStore:
    """A store as the daemon sees it. Names are found in any case, and kept in the one they were made with."""

    def __init__(self, layout: StoreLayout, *, go_template: bool | None = None, prunes: bool = True) -> None:
        """``go_template`` is ``OLLAMA_GO_TEMPLATE``; ``prunes`` is false under ``OLLAMA_NOPRUNE``."""
        self.layout = layout
        self.blobs = BlobStore(layout)
        self.manifests = ManifestStore(layout)
        self._go_template = go_template
        self._prunes = prunes
        self._changing = threading.Lock()
        self._held: Counter[str] = Counter()
        self._postponed: set[str] = set()
        """Blobs that were to be removed while they were held."""
        self._opened: Kept[ModelName, _Opened] = Kept()

    @cached_property
    def reader(self) -> ModelReader:
        """What reads the parts of a model; made with the first model, for it takes much to import."""
        from orchestrator.store.reading import ModelReader

        return ModelReader(self.blobs, go_template=self._go_template)

    async def start(self) -> None:
        """Make the directories, bring an old store up to date, remove what nothing uses.

        Raises ``StoreError``.
        """
        await asyncio.to_thread(self._start)

    async def open(self, name: ModelName) -> Model:
        """Raises ``ModelNotFound``, ``CorruptManifest`` or ``DamagedModel``.

        Whether a known model is still the same is told by one look at its manifest: not worth a thread.
        """
        known = self._known(name)
        return known if known is not None else await asyncio.to_thread(self._open, name)

    async def list(self) -> Sequence[ListedModel]:
        """The models that can be read, newest first by whole seconds; others are logged."""
        return await asyncio.to_thread(self._list)

    async def copy(self, source: ModelName, destination: ModelName) -> None:
        """Give a model a second name. Raises ``ModelNotFound``, ``StoreError``."""
        await asyncio.to_thread(self._copy, source, destination)

    async def delete(self, name: ModelName) -> None:
        """Remove a model, readable or not, and what only it used.

        Raises ``ModelNotFound``, ``StoreError``.
        """
        await asyncio.to_thread(self._delete, name)

    async def replace(self, name: ModelName, manifest: Manifest) -> None:
        """Write a manifest, and remove what only the one before it used.

        Raises ``StoreError``: also when one of its blobs is no longer there, and then nothing has changed.
        """
        await asyncio.to_thread(self.replace_now, name, manifest)

    async def install(self, name: ModelName, content: bytes) -> tuple[str, ...]:
        """Write a manifest from elsewhere, which is kept byte for byte.

        Gives the digests that only the manifest before it listed, for ``release``; none under
        ``OLLAMA_NOPRUNE``. Raises what ``replace`` does, and ``CorruptManifest``.
        """
        return await asyncio.to_thread(self._install, name, content)

    async def release(self, digests: Iterable[str]) -> None:
        """Remove those blobs that no model uses. Raises ``StoreError``."""
        await asyncio.to_thread(self.release_now, digests)

    async def prune(self, *, dry_run: bool = False) -> PrunePlan:
        """Remove what nothing uses, unless it is young; says what went, or would go.

        Raises ``StoreError`` while there is a manifest that cannot be read.
        """
        return await asyncio.to_thread(self._prune, dry_run=dry_run)

    @asynccontextmanager
    async def held(self, digests: Iterable[Digest]) -> AsyncIterator[None]:
        """``holding``, for the event loop."""
        stack = ExitStack()
        try:
            await to_the_end(asyncio.to_thread(stack.enter_context, self.holding(digests)))
            yield
        finally:
            await to_the_end(asyncio.to_thread(stack.close))

    @contextmanager
    def holding(self, digests: Iterable[Digest]) -> Iterator[None]:
        """While the block runs these blobs stay, although no model may use them yet, or any more.

        Waits for a change of the store that is under way. What was to be removed meanwhile goes at the end.
        """
        names = [held_name(digest) for digest in digests]
        with self._changing:
            self._held.update(names)
        try:
            yield
        finally:
            with self._changing:
                self._held -= Counter(names)
                self._remove_postponed()

    def replace_now(self, name: ModelName, manifest: Manifest) -> None:
        """``replace``, for work that is in a thread already."""
        self._put(name, manifest, canonical_json(manifest.to_json()))

    def install_now(self, name: ModelName, content: bytes) -> None:
        """``replace_now`` for a manifest from elsewhere, which is kept byte for byte.

        Raises ``CorruptManifest`` too.
        """
        self._put(name, parsed_manifest(self.layout.manifest(name), content), content)

    def release_now(self, digests: Iterable[str]) -> None:
        """``release``, for work that is in a thread already."""
        with self._changing:
            self._remove_unused(digests)

    def _start(self) -> None:
        make_directory(self.layout.manifests)
        make_directory(self.layout.blobs)
        self.blobs.rename_legacy()
        if self._prunes:
            prune_unused(self.layout, self.manifests, now=datetime.now(UTC))
            make_directory(self.layout.manifests)

    def _prune(self, *, dry_run: bool) -> PrunePlan:
        with self._changing:
            plan = plan_prune(
                self.layout,
                self.manifests,
                now=datetime.now(UTC),
                held=self._held.keys(),
                with_directories=True,
            )
            if not dry_run:
                carry_out(plan, self.manifests)
                make_directory(self.layout.manifests)
            return plan

    def _known(self, name: ModelName) -> Model | None:
        """The model of a name, if it was opened before and its manifest has not changed since."""
        opened = self._opened.get(name)
        return opened.model if opened is not None and _stamp(opened.path) == opened.stamp else None

    def _open(self, name: ModelName) -> Model:
        canonical = self.manifests.canonical(name)
        path = str(self.layout.manifest(canonical))
        stamp = _stamp(path)
        model = self.reader.model(self.manifests.read(canonical))
        if stamp is not None and _has_settled(stamp):
            self._opened.put(name, _Opened(model, path, stamp))
        return model

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

    def _install(self, name: ModelName, content: bytes) -> tuple[str, ...]:
        manifest = parsed_manifest(self.layout.manifest(name), content)
        with self._changing:
            old = self._put_locked(name, manifest, content)
        if old is None or not self._prunes:
            return ()
        kept = {part.digest for part in manifest.parts}
        return tuple(part.digest for part in old.manifest.parts if part.digest not in kept)

    def _put(self, name: ModelName, manifest: Manifest, content: bytes) -> None:
        with self._changing:
            old = self._put_locked(name, manifest, content)
            if old is not None and self._prunes:
                self._release_locked(old.manifest)

    def _put_locked(self, name: ModelName, manifest: Manifest, content: bytes) -> StoredManifest | None:
        """Write a manifest whose blobs are there; the one that it takes the place of."""
        for part in manifest.parts:
            self.blobs.touch(Digest.parse(part.digest))
        name = self.manifests.canonical(name)
        old = self._readable(name)
        self.manifests.write_bytes(name, content)
        return old

    def _release_locked(self, manifest: Manifest) -> None:
        """The change itself is done; that its remains cannot be removed is no failure."""
        try:
            self._remove_unused(part.digest for part in manifest.parts)
        except StoreError as error:
            logger.warning("unused blobs not removed", extra={"reason": str(error)})

    def _remove_unused(self, digests: Iterable[str]) -> None:
        names = blob_names(digests)
        self._postponed |= names & self._held.keys()
        remove_if_unused(self.layout, self.manifests, names, held=self._held.keys())

    def _remove_postponed(self) -> None:
        free = self._postponed - self._held.keys()
        self._postponed -= free
        if not free:
            return
        try:
            self._remove_unused(free)
        except StoreError as error:
            logger.warning("unused blobs not removed", extra={"reason": str(error)})

    def _readable(self, name: ModelName) -> StoredManifest | None:
        try:
            return self.manifests.read(name)
        except (ModelNotFound, CorruptManifest):
            return None


def _has_settled(stamp: Stamp) -> bool:
    """Whether the next change will show."""
    changed_ns = stamp[0]
    resolution_ns = FINE_NS if changed_ns % 1_000_000_000 else COARSE_NS
    return time.time_ns() - changed_ns > resolution_ns


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116  # a Path takes longer than the call, and every request comes here
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
