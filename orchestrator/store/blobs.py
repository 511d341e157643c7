"""Blobs: immutable files named by the SHA-256 of their content.

A blob is written to a temporary file, hashed on the way, flushed to the disk and only then given its final
name, so a name that exists is always whole. The temporary name is one that Ollama's pruning clears away too.
Source: ``store`` §1.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from orchestrator.domain.digests import Digest
from orchestrator.errors import StoreError
from orchestrator.store.errors import DigestMismatch, check_room, disk_error
from orchestrator.store.layout import FILE_MODE, StoreLayout, make_directory

logger = logging.getLogger(__name__)

TEMPORARY_PREFIX = "sha256-"
LEGACY_PREFIX = "sha256:"
SMALL_BYTES = 64 << 20
"""More than any template, licence or configuration has."""
WRITE_BYTES = 1 << 20
"""How much is collected before it goes to the disk."""


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob that is in the store."""

    digest: Digest
    size_bytes: int
    created: bool
    """It was not there before."""


class BlobFile:
    """A blob being written, in plain synchronous code. ``commit`` or ``discard`` ends it."""

    def __init__(self, layout: StoreLayout, *, size_bytes: int = 0) -> None:
        """``size_bytes`` is the size to come, if known. Raises ``DiskFull`` when there is no room for it."""
        make_directory(layout.blobs)
        self._layout = layout
        self._hash = hashlib.sha256()
        self._promised_bytes = size_bytes
        self._written_bytes = 0
        self._path = layout.blobs / TEMPORARY_PREFIX
        check_room(self._path, size_bytes)
        try:
            descriptor, path = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=layout.blobs)
        except OSError as error:
            raise disk_error("open", self._path, error) from error
        self._path = Path(path)
        self._file: BinaryIO = os.fdopen(descriptor, "wb", buffering=0)

    @property
    def path(self) -> Path:
        """Where the content is until ``commit``; another program may write it, see ``absorb``."""
        return self._path

    @property
    def digest(self) -> Digest:
        """The true digest of what was written so far."""
        return Digest(self._hash.hexdigest())

    def absorb(self) -> Generator[int, None, None]:
        """Instead of ``write``: take what another program has written to ``path``, a piece at a time.

        Gives the number of bytes so far. Raises ``StoreError``.
        """
        self._file.close()
        with self._translated("open"):
            self._file = self._path.open("r+b", buffering=0)
        while True:
            with self._translated("read"):
                piece = self._file.read(WRITE_BYTES)
            if not piece:
                return
            self._hash.update(piece)
            self._written_bytes += len(piece)
            yield self._written_bytes

    def write(self, content: bytes | bytearray | memoryview) -> None:
        """Add ``content``. Raises ``StoreError``."""
        self._hash.update(content)
        rest = memoryview(content)
        while rest:
            with self._translated("write"):
                rest = rest[self._file.write(rest) :]
        self._written_bytes += len(content)

    def commit(self, expected: str | None = None, *, replaces: bool = False) -> StoredBlob:
        """Give the file its final name, which is its true digest.

        A file that has it already stays, if it is as long, unless this one ``replaces`` it. Raises
        ``DigestMismatch`` when ``expected`` is another one; the content is kept nevertheless.
        """
        digest = self.digest
        final = self._layout.blob(digest)
        created = replaces or _size_or_none(final) != self._written_bytes
        if created:
            with self._translated("write"):
                os.fchmod(self._file.fileno(), FILE_MODE)
                os.fsync(self._file.fileno())
                self._file.close()
                self._path.replace(final)
                sync_directory(final.parent)
        else:
            self.discard()
        touch(final)
        if expected is not None and expected != str(digest):
            raise DigestMismatch(expected, digest)
        return StoredBlob(digest, self._written_bytes, created)

    def discard(self) -> None:
        """Remove what was written; after ``commit`` this does nothing."""
        self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            needed = max(self._promised_bytes - self._written_bytes, 1)
            raise disk_error(verb, self._path, error, needed_bytes=needed) from error


class BlobWriter:
    """A ``BlobFile`` for the event loop: pieces are collected, and hashed and written in a thread."""

    def __init__(self, file: BlobFile) -> None:
        self._file = file
        self._pending = bytearray()

    async def write(self, content: bytes) -> None:
        """Add ``content``. Raises ``StoreError``."""
        self._pending += content
        if len(self._pending) >= WRITE_BYTES:
            await self._flush()

    async def commit(self, expected: str | None = None) -> StoredBlob:
        """See ``BlobFile.commit``."""
        await self._flush()
        return await asyncio.to_thread(self._file.commit, expected)

    async def _flush(self) -> None:
        pending, self._pending = self._pending, bytearray()
        await asyncio.to_thread(self._file.write, pending)


class BlobStore:
    """The blobs of one store."""

    def __init__(self, layout: StoreLayout) -> None:
        self._layout = layout

    def path(self, digest: Digest) -> Path:
        """Where the blob is, or would be."""
        return self._layout.blob(digest)

    def exists(self, digest: Digest) -> bool:
        return self.path(digest).is_file()

    def has(self, digest: Digest, size_bytes: int) -> bool:
        """Whether the blob is there and as long as it should be."""
        return _size_or_none(self.path(digest)) == size_bytes

    def is_whole(self, digest: Digest, size_bytes: int) -> bool:
        """Whether the blob is there, and is what its digest says: all of it is read."""
        if not self.has(digest, size_bytes):
            return False
        try:
            with self.path(digest).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == digest.hex.lower()
        except OSError:
            return False

    def size(self, digest: Digest) -> int:
        """Size in bytes. Raises ``StoreError`` when the blob is not there."""
        path = self.path(digest)
        try:
            return path.stat().st_size
        except OSError as error:
            raise disk_error("open", path, error) from error

    def read(self, digest: Digest) -> bytes:
        """The content of a small blob. Raises ``StoreError``, also for one that is not small."""
        path = self.path(digest)
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size > SMALL_BYTES:
                    raise StoreError(f"read {path}: it is larger than {SMALL_BYTES} bytes, which no text is")
                return file.read()
        except OSError as error:
            raise disk_error("open", path, error) from error

    def touch(self, digest: Digest) -> None:
        """Protect a blob that is about to be referenced from pruning, which looks at its age."""
        touch(self.path(digest))

    def put(self, content: bytes) -> StoredBlob:
        """Store a small blob. Raises ``StoreError``."""
        with self.file(size_bytes=len(content)) as file:
            file.write(content)
            return file.commit()

    @contextmanager
    def file(self, *, size_bytes: int = 0) -> Iterator[BlobFile]:
        """A blob to be written; what is not committed on leaving is discarded."""
        file = BlobFile(self._layout, size_bytes=size_bytes)
        try:
            yield file
        finally:
            file.discard()

    @asynccontextmanager
    async def writer(self, *, size_bytes: int = 0) -> AsyncIterator[BlobWriter]:
        """``file`` for the event loop."""
        file = await asyncio.to_thread(BlobFile, self._layout, size_bytes=size_bytes)
        try:
            yield BlobWriter(file)
        finally:
            await asyncio.to_thread(file.discard)

    def rename_legacy(self) -> None:
        """Give the blobs of old stores, ``sha256:<hex>``, the name that is used now."""
        if not self._layout.blobs.is_dir():
            return
        for path in self._layout.blobs.glob(f"{LEGACY_PREFIX}*"):
            try:
                path.rename(path.with_name(path.name.replace(":", "-", 1)))
            except OSError as error:
                logger.warning("could not rename a blob", extra={"path": path, "reason": error.strerror})


def touch(path: Path) -> None:
    """Set the times of a file to now, where that is permitted. Raises ``StoreError`` if it is not there."""
    try:
        os.utime(path)
    except PermissionError:
        logger.debug("could not touch a blob", extra={"path": path})
    except OSError as error:
        raise disk_error("open", path, error) from error


def sync_directory(path: Path) -> None:
    """Have the names in a directory on the disk, where the file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _size_or_none(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
