"""Manifests: one small JSON file per model name.

The file system is the authority on names: they keep the case they were created with and are found in any.
A manifest that cannot be read is skipped with a warning and stays where it is; only ``delete`` removes it.
Source: ``store`` §2.3, §3, §4.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.domain.names import ModelName
from orchestrator.errors import StoreError
from orchestrator.store.blobs import sync_directory
from orchestrator.store.canonical import canonical_json
from orchestrator.store.errors import CorruptManifest, ModelNotFound, disk_error
from orchestrator.store.layout import FILE_MODE, StoreLayout, make_directory

if TYPE_CHECKING:
    from orchestrator.store.wire import Manifest

logger = logging.getLogger(__name__)

TEMPORARY_PREFIX = ".writing-"
"""Of files directly in ``manifests/``, where no enumeration looks: one at the depth of manifests that is none
keeps Ollama from pruning."""

DEPTH = 4
LARGEST_MANIFEST_BYTES = 4 << 20
"""A part takes some 250 bytes, so this is room for sixteen thousand of them."""

_NOT_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest with what its file says about it."""

    name: ModelName
    manifest: Manifest
    digest: str
    """SHA-256 of the file's bytes, bare hex."""
    modified_ns: int

    @property
    def size_bytes(self) -> int:
        """Size of all parts, as the manifest states it."""
        return sum(part.size for part in self.manifest.parts)


class ManifestStore:
    """The manifests of one store."""

    def __init__(self, layout: StoreLayout) -> None:
        self._layout = layout

    def canonical(self, name: ModelName) -> ModelName:
        """``name`` as the store spells it: the whole name if it exists, else part by part."""
        if self._layout.manifest(name).exists():
            return name
        existing = list(self.names())
        for other in existing:
            if other.same_as(name):
                return other
        spellings = [
            {part.lower(): part for part in column}
            for column in zip(*(n.parts for n in existing), strict=True)
        ]
        if not spellings:
            return name
        host, namespace, model, tag = (
            known.get(part.lower(), part) for known, part in zip(spellings, name.parts, strict=True)
        )
        return ModelName(host, namespace, model, tag, name.scheme)

    def read(self, name: ModelName) -> StoredManifest:
        """Raises ``ModelNotFound``, ``CorruptManifest`` or, when the disk fails, ``StoreError``."""
        return self.read_whole(name)[0]

    def read_whole(self, name: ModelName) -> tuple[StoredManifest, bytes]:
        """``read``, and the very bytes of the file."""
        content, modified_ns = self._content(name)
        manifest = parsed_manifest(self._layout.manifest(name), content)
        return StoredManifest(name, manifest, hashlib.sha256(content).hexdigest(), modified_ns), content

    def write(self, name: ModelName, manifest: Manifest) -> None:
        """Write a manifest under exactly this spelling. Raises ``StoreError``."""
        self.write_bytes(name, canonical_json(manifest.to_json()))

    def write_bytes(self, name: ModelName, content: bytes) -> None:
        """Write a manifest as it was received: the old one is replaced in one step, or stays.

        Raises ``StoreError``.
        """
        path = self._layout.manifest(name)
        make_directory(path.parent)
        try:
            _replace(path, content, beside=self._layout.manifests)
        except OSError as error:
            raise disk_error("write", path, error, needed_bytes=len(content)) from error

    def copy(self, source: ModelName, destination: ModelName) -> None:
        """Write the bytes of one manifest under another name. Raises ``ModelNotFound``, ``StoreError``."""
        content, _ = self._content(source)
        self.write_bytes(destination, content)

    def delete(self, name: ModelName) -> None:
        """Remove a manifest, readable or not, and directories that are empty then.

        Raises ``ModelNotFound``, ``StoreError``.
        """
        path = self._layout.manifest(name)
        try:
            path.unlink()
        except _NOT_THERE as error:
            raise ModelNotFound(name) from error
        except OSError as error:
            raise disk_error("remove", path, error) from error
        self.remove_empty_directories()

    def names(self) -> Iterator[ModelName]:
        """The names there are manifests for, readable or not; files that name no model are passed over."""
        for path in self._files():
            name = self._name(path)
            if name is not None:
                yield name

    def list(self) -> list[StoredManifest]:
        """All manifests that can be read; the others are logged."""
        found = []
        for path in self._files():
            try:
                found.append(self._read_file(path))
            except ModelNotFound:
                continue  # removed meanwhile
            except StoreError as error:
                logger.warning("manifest skipped", extra={"path": path, "reason": str(error)})
        return found

    def check(self) -> None:
        """Raises ``StoreError`` if there is a file among the manifests that cannot be read as one."""
        for path in self._files():
            self._read_file(path)

    def digests_in_use(self) -> set[str]:
        """The digests that manifests list, as written there. Corrupt manifests are passed over.

        Raises ``StoreError`` when a manifest cannot be read for another reason: what it uses is not known.
        """
        used: set[str] = set()
        for path in self._files():
            try:
                used |= {part.digest for part in self._read_file(path).manifest.parts}
            except (ModelNotFound, CorruptManifest):
                continue
        return used

    def remove_empty_directories(self) -> None:
        """Remove directories below ``manifests/`` that hold nothing; links are not followed."""
        for directory, _, _ in os.walk(self._layout.manifests, topdown=False):
            path = Path(directory)
            if path == self._layout.manifests or path.is_symlink():
                continue
            try:
                path.rmdir()
            except OSError:
                continue  # not empty

    def _content(self, name: ModelName) -> tuple[bytes, int]:
        """The bytes of a manifest's file, and when it was written, in nanoseconds."""
        path = self._layout.manifest(name)
        try:
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                if found.st_size > LARGEST_MANIFEST_BYTES:
                    raise CorruptManifest(path, f"it has {found.st_size} bytes, which no manifest has")
                return file.read(), found.st_mtime_ns
        except _NOT_THERE as error:
            raise ModelNotFound(name) from error
        except OSError as error:
            raise disk_error("open", path, error) from error

    def _files(self) -> Iterator[Path]:
        yield from _entries(self._layout.manifests, DEPTH)

    def _name(self, path: Path) -> ModelName | None:
        return ModelName.from_path(path.relative_to(self._layout.manifests).as_posix())

    def _read_file(self, path: Path) -> StoredManifest:
        name = self._name(path)
        if name is None:
            raise CorruptManifest(path, "the path names no model")
        return self.read(name)


def _entries(directory: Path, depth: int) -> Iterator[Path]:
    """Files exactly ``depth`` levels below, in the order of their names; links are followed."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise disk_error("open", directory, error) from error
    for entry in entries:
        if depth > 1 and entry.is_dir():
            yield from _entries(Path(entry.path), depth - 1)
        elif depth == 1 and not entry.is_dir():
            yield Path(entry.path)


def parsed_manifest(path: Path, content: bytes) -> Manifest:
    """The manifest in the bytes of the file at ``path``. Raises ``CorruptManifest``."""
    # a daemon that starts with an empty store does without
    from pydantic import ValidationError

    from orchestrator.store.wire import Manifest
    from orchestrator.wire.complaints import complaint

    if not content:
        raise CorruptManifest(path, "the file is empty")
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        raise CorruptManifest(path, complaint(error, whole="")) from error


def _replace(path: Path, content: bytes, *, beside: Path) -> None:
    """Write a file in one step: its content is complete, or the old one."""
    if beside.stat().st_dev != path.parent.stat().st_dev:
        beside = path.parent  # a linked directory on another file system
    descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=beside)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), FILE_MODE)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
