"""The files of one download in the store: its data, and a state file for each part.

::

    blobs/sha256-<hex>-partial        the data, as long as the blob will be, with holes
    blobs/sha256-<hex>-partial-<N>    how far part N is

A state file is written after the data it speaks of, so a process that is killed leaves states that are true.
Whatever else happens to the data is found by the digest. All of this is plain synchronous code.
Source: ``store`` §1, §6.5, §6.7.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.domain.digests import Digest
from orchestrator.errors import StoreError
from orchestrator.registry.errors import BlobMismatch
from orchestrator.registry.parts import Part, PartSizes, contiguous, fits
from orchestrator.registry.prefix import PrefixHash
from orchestrator.store.blobs import sync_directory
from orchestrator.store.errors import check_room, disk_error
from orchestrator.store.layout import FILE_MODE, StoreLayout, make_directory

logger = logging.getLogger(__name__)

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


class PartialFile:
    """An unfinished blob, to be opened. ``commit``, ``discard`` or ``keep`` ends it."""

    def __init__(self, layout: StoreLayout, digest: Digest, total_bytes: int, sizes: PartSizes) -> None:
        self.digest = digest
        self.total_bytes = total_bytes
        self._final = layout.blob(digest)
        self._path = partial_path(layout, digest)
        self._states: dict[int, int] = {}
        """Descriptors of the state files in use, by part."""
        self.parts: list[Part] = []
        self.is_resumed = False
        """Some of it is from an earlier download."""
        self._sizes = sizes
        self._prefix = PrefixHash()
        self._data = -1
        self._is_ours = False

    def open(self) -> None:
        """Go on with what is there, if it fits. Raises ``StoreError``; ``DiskFull`` before the first byte."""
        make_directory(self._path.parent)
        with self._translated("open"):
            self._data = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
            self._lock()
            self._is_ours = True
            self._set_up()

    @property
    def completed_bytes(self) -> int:
        return sum(part.completed for part in self.parts)

    @property
    def contiguous_bytes(self) -> int:
        """How much is there from the beginning on, without a gap."""
        return contiguous(self.parts)

    @property
    def is_behind(self) -> bool:
        """Whether ``catch_up`` has something to do."""
        return self._prefix.position < self.contiguous_bytes

    def write(self, position: int, pieces: Sequence[bytes]) -> None:
        """Put bytes in their place, then write down that they are there. Raises ``StoreError``."""
        with self._translated("write"):
            end = _write_all(self._data, position, pieces)
        self._prefix.feed(position, pieces)
        for part in self.parts:
            if part.offset < end and position <= part.position and part.advance(end):
                with self._translated("write"):
                    self._record(part)

    def catch_up(self) -> bool:
        """Hash a stretch of what came out of order; whether nothing is left. Raises ``StoreError``."""
        with self._translated("read"):
            return self._prefix.read(self._data, self.contiguous_bytes)

    def commit(self) -> None:
        """Give the file its final name; everything must have been written and hashed.

        Raises ``BlobMismatch``, and then the content is gone; ``StoreError``.
        """
        got = Digest(self._prefix.hex())
        if got.hex != self.digest.hex.lower():
            self.discard()
            raise BlobMismatch(self.digest, got)
        with self._translated("write"):
            os.fchmod(self._data, FILE_MODE)
            os.fsync(self._data)
            self._path.replace(self._final)
            sync_directory(self._final.parent)
        self.close()
        self._remove_states()

    def discard(self) -> None:
        """Remove what was fetched."""
        self.close()
        self._remove_states()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def keep(self) -> None:
        """Leave what was fetched for a later download; nothing is not worth keeping."""
        if self._is_ours and not self.completed_bytes:
            self.discard()
        self.close()

    def close(self) -> None:
        """Leave the files as they are."""
        descriptors = [*self._states.values(), *([self._data] if self._data >= 0 else [])]
        self._states, self._data, self._is_ours = {}, -1, False
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _lock(self) -> None:
        """Two daemons may have one store. The lock is gone with the process, however that ends."""
        try:
            fcntl.flock(self._data, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"{self._path}: another program is fetching this file") from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise disk_error("lock", self._path, error) from error

    def _set_up(self) -> None:
        found = os.fstat(self._data)
        if found.st_size == self.total_bytes:
            self.parts = self._read_states()
        self.is_resumed = any(part.completed for part in self.parts)
        allocated_bytes = found.st_blocks * 512 if self.parts else 0
        check_room(self._path, self.total_bytes - allocated_bytes)
        if self.parts:
            return
        self._remove_states()
        os.ftruncate(self._data, 0)
        os.ftruncate(self._data, self.total_bytes)
        self.parts = self._sizes.cut(self.total_bytes)
        for part in self.parts:
            self._record(part)

    def _read_states(self) -> list[Part]:
        """The parts of an earlier download; none if they do not make up the file."""
        parts = []
        for path in state_paths(self._path):
            try:
                parts.append(Part.from_line(path.read_bytes()))
            except (OSError, ValueError):
                logger.warning("state of a download not readable, starting anew", extra={"path": path})
                return []
        parts.sort(key=lambda part: part.offset)
        numbers = {part.number for part in parts}
        return parts if len(numbers) == len(parts) and fits(parts, self.total_bytes) else []

    def _record(self, part: Part) -> None:
        if part.number not in self._states:
            path = state_path(self._path, part.number)
            self._states[part.number] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        descriptor = self._states[part.number]
        line = part.to_line()
        os.pwrite(descriptor, line, 0)
        if os.fstat(descriptor).st_size != len(line):
            os.ftruncate(descriptor, len(line))
        if part.is_complete or not part.completed:
            os.close(self._states.pop(part.number))

    def _remove_states(self) -> None:
        for path in state_paths(self._path):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            needed = max(self.total_bytes - self.completed_bytes, 1)
            raise disk_error(verb, self._path, error, needed_bytes=needed) from error


def partial_path(layout: StoreLayout, digest: Digest) -> Path:
    """Where the data of an unfinished download is."""
    blob = layout.blob(digest)
    return blob.with_name(f"{blob.name}-partial")


def state_path(partial: Path, number: int) -> Path:
    return partial.with_name(f"{partial.name}-{number}")


def state_paths(partial: Path) -> list[Path]:
    """The state files there are."""
    form = re.compile(re.escape(partial.name) + r"-[0-9]+")
    return [entry for entry in partial.parent.glob(f"{partial.name}-*") if form.fullmatch(entry.name)]


def missing_bytes(layout: StoreLayout, digest: Digest, total_bytes: int) -> int:
    """What a download of a blob will take of the disk: nothing for what an earlier one has written."""
    try:
        found = partial_path(layout, digest).stat()
    except OSError:
        return total_bytes
    return max(total_bytes - found.st_blocks * 512, 0)


def _write_all(descriptor: int, position: int, pieces: Sequence[bytes]) -> int:
    """Write pieces one behind the other; where they end."""
    rest = [memoryview(piece) for piece in pieces]
    while rest:
        written = os.pwritev(descriptor, rest[: os.sysconf("SC_IOV_MAX")], position)
        position += written
        while rest and written >= len(rest[0]):
            written -= len(rest.pop(0))
        if rest and written:
            rest[0] = rest[0][written:]
    return position
