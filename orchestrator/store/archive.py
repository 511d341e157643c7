"""A model as one file, for machines without network: an uncompressed tar archive in the layout of the store.

::

    manifests/<host>/<namespace>/<model>/<tag>    first, byte for byte
    blobs/sha256-<64 hex>                         each part once

An archive may hold several models, in any order. Reading one trusts nothing: every name is checked against
the layout, every blob against its digest before it gets its name, and no model is put in place before all
its parts are there. What fails or is given up leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.domain.digests import Digest, InvalidDigest
from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.store.blobs import BlobFile
from orchestrator.store.errors import CorruptManifest, DamagedModel, disk_error
from orchestrator.store.manifests import LARGEST_MANIFEST_BYTES, StoredManifest, parsed_manifest
from orchestrator.store.models import ModelStore
from orchestrator.store.parts import stored_parts
from orchestrator.store.tar import END, ArchiveRefused, Begin, End, Event, Piece, TarReader, header, padding

PIECE_BYTES = 1 << 20
MOST_MANIFESTS_BYTES = 64 << 20
"""Of all manifests of an archive: they are kept in memory until the end."""
_LEAST_MANIFEST_BYTES = 512
"""What a manifest counts at least, for its name is kept, too."""

_BLOB = re.compile(r"blobs/(sha256-[0-9a-f]{64})")
_MANIFEST = "manifests/"


@dataclass(frozen=True, slots=True)
class _Packed:
    """A blob to be written."""

    digest: Digest
    path: Path
    size_bytes: int

    @property
    def header(self) -> bytes:
        return header(f"blobs/{self.digest.file_name}", self.size_bytes, modified_s=0)


class Export:
    """The archive of one model."""

    def __init__(self, store: ModelStore, name: ModelName) -> None:
        """Raises ``ModelNotFound``, ``CorruptManifest``, or ``DamagedModel`` when a part is not there."""
        self.stored, content = store.manifests.read_whole(store.manifests.canonical(name))
        self.blobs = tuple(_packed(store, self.stored))
        modified_s = self.stored.modified_ns // 1_000_000_000
        path = f"{_MANIFEST}{self.stored.name.path}"
        self._first = header(path, len(content), modified_s=modified_s) + content + padding(len(content))

    @property
    def size_bytes(self) -> int:
        """Size of the archive."""
        files = (len(blob.header) + blob.size_bytes + len(padding(blob.size_bytes)) for blob in self.blobs)
        return len(self._first) + sum(files) + len(END)

    def pieces(self) -> Iterator[bytes]:
        """The archive. Raises ``DamagedModel`` when a blob turns out not to be what its digest says."""
        yield self._first
        for blob in self.blobs:
            yield blob.header
            yield from self._content(blob)
            yield padding(blob.size_bytes)
        yield END

    def _content(self, blob: _Packed) -> Iterator[bytes]:
        hashing, left = hashlib.sha256(), blob.size_bytes
        try:
            with blob.path.open("rb", buffering=0) as file:
                while left and (piece := file.read(min(left, PIECE_BYTES))):
                    hashing.update(piece)
                    left -= len(piece)
                    if not left:
                        self._compare(hashing.hexdigest(), blob)
                    yield piece
        except OSError as error:
            raise disk_error("read", blob.path, error) from error
        if left:
            raise DamagedModel(self.stored.name, f"{blob.digest} has become shorter")

    def _compare(self, actual: str, blob: _Packed) -> None:
        """Before the last piece of a blob, so that a damaged one makes no complete archive."""
        if actual != blob.digest.hex.lower():
            raise DamagedModel(self.stored.name, f"the content of {blob.digest} is not what its digest says")


def _packed(store: ModelStore, stored: StoredManifest) -> Iterator[_Packed]:
    """Each part once."""
    seen: set[Digest] = set()
    for part in stored_parts(store.blobs, stored):
        if part.digest not in seen:
            seen.add(part.digest)
            yield _Packed(part.digest, part.path, part.size_bytes)


@dataclass(slots=True)
class _Manifest:
    """A manifest on its way."""

    name: ModelName
    content: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True, slots=True)
class _Blob:
    """A blob on its way; ``file`` is ``None`` if it is there already, and only passes by."""

    digest: Digest
    size_bytes: int
    file: BlobFile | None


class Import:
    """An archive being read into a store, in plain synchronous code. ``close`` ends it, come what may."""

    def __init__(self, store: ModelStore) -> None:
        self._store = store
        self._reader = TarReader()
        self._held = ExitStack()
        self._created: list[Digest] = []
        self._manifests: dict[ModelName, bytes] = {}
        self._manifests_bytes = 0
        self._coming: _Manifest | _Blob | None = None

    def feed(self, content: bytes) -> list[Progress]:
        """Take the next bytes; what can be told of them. Raises ``ArchiveRefused``, ``StoreError``."""
        told: list[Progress] = []
        for event in self._reader.feed(content):
            told += self._take(event)
        return told

    def check(self) -> None:
        """There is no more. Raises ``ArchiveRefused`` when something is missing; nothing has changed then."""
        self._reader.close()
        if not self._manifests:
            raise ArchiveRefused("there is no model in it")
        for name, content in self._manifests.items():
            self._check(name, content)

    def finish(self) -> Sequence[ModelName]:
        """Put the models, which have been checked, in their places, and say which."""
        names = [self._store.manifests.canonical(name) for name in self._manifests]
        for name, content in self._manifests.items():
            self._store.install_now(name, content)
        return names

    def close(self) -> None:
        """Remove what is not complete, and blobs that no model of the store uses after all."""
        match self._coming:
            case _Blob(file=BlobFile() as file):
                file.discard()
        self._held.close()
        if self._created:
            self._store.release_now(map(str, self._created))
            self._created.clear()

    def _take(self, event: Event) -> Iterator[Progress]:
        match event:
            case Begin(name, size):
                self._begin(name, size)
            case Piece(content):
                self._go_on(content)
            case End():
                yield from self._end()

    def _begin(self, path: str, size_bytes: int) -> None:
        path = path.removeprefix("./")
        if found := _BLOB.fullmatch(path):
            self._begin_blob(Digest.parse(found[1]), size_bytes)
        elif path.startswith(_MANIFEST) and (name := ModelName.from_path(path.removeprefix(_MANIFEST))):
            self._begin_manifest(name, size_bytes)
        else:
            raise ArchiveRefused(f"{_shown(path)} is no part of a model")

    def _begin_manifest(self, name: ModelName, size_bytes: int) -> None:
        if size_bytes > LARGEST_MANIFEST_BYTES:
            raise ArchiveRefused(f"the manifest of {name.short} has {size_bytes} bytes")
        self._manifests_bytes += max(size_bytes, _LEAST_MANIFEST_BYTES)
        if self._manifests_bytes > MOST_MANIFESTS_BYTES:
            raise ArchiveRefused("it holds too many models for one archive")
        self._coming = _Manifest(name)

    def _begin_blob(self, digest: Digest, size_bytes: int) -> None:
        self._held.enter_context(self._store.holding([digest]))
        is_there = self._store.blobs.is_whole(digest, size_bytes)
        file = None if is_there else BlobFile(self._store.layout, size_bytes=size_bytes)
        self._coming = _Blob(digest, size_bytes, file)

    def _go_on(self, content: bytes) -> None:
        match self._coming:
            case _Manifest() as manifest:
                manifest.content += content
            case _Blob(file=BlobFile() as file):
                file.write(content)

    def _end(self) -> Iterator[Progress]:
        coming, self._coming = self._coming, None
        match coming:
            case _Manifest(name, content):
                if name in self._manifests:
                    raise ArchiveRefused(f"it holds {name.short} twice")
                self._manifests[name] = bytes(content)
            case _Blob(digest, size_bytes, file):
                if file is not None:
                    self._end_blob(digest, file)
                yield Progress(f"importing {digest.short}", str(digest), size_bytes, size_bytes)

    def _end_blob(self, digest: Digest, file: BlobFile) -> None:
        try:
            if file.digest != digest:
                raise ArchiveRefused(f"the content of {digest} is not what its digest says")
            file.commit(replaces=True)
        finally:
            file.discard()
        self._created.append(digest)

    def _check(self, name: ModelName, content: bytes) -> None:
        """Raise unless a model is all there."""
        try:
            manifest = parsed_manifest(self._store.layout.manifest(name), content)
        except CorruptManifest as error:
            raise ArchiveRefused(f"the manifest of {name.short} is damaged: {error.reason}") from error
        for part in manifest.parts:
            try:
                digest = Digest.parse(part.digest)
            except InvalidDigest as error:
                raise ArchiveRefused(f"the manifest of {name.short} has a digest that is none") from error
            if not self._store.blobs.has(digest, part.size):
                raise ArchiveRefused(f"{part.digest} of {name.short} is missing, or not of the size it says")


def _shown(path: str) -> str:
    return repr(path if len(path) <= 100 else f"{path[:97]}...")
