"""The errors of the model store.

::

    NotFound
    └── ModelNotFound          no manifest has that name
    BadRequest
    └── DigestMismatch         an upload was not what its digest said
    StoreError
    ├── DiskFull               no space left
    ├── CorruptManifest        a manifest that cannot be understood
    └── DamagedModel           a manifest whose files are missing or cannot be understood
        └── IncompleteModel    … are missing
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.errors import BadRequest, NotFound, StoreError, reason_of

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class ModelNotFound(NotFound):
    """No manifest has that name."""

    hint = "`orch list` shows the models there are"

    def __init__(self, name: ModelName) -> None:
        super().__init__(f"model '{name.short}' not found")
        self.name = name


class DigestMismatch(BadRequest):
    """Uploaded content is not what its digest promised. It stays in the store under its true digest."""

    def __init__(self, expected: str, actual: Digest) -> None:
        super().__init__(f'digest mismatch, expected "{expected}", got "{actual}"')
        self.expected, self.actual = expected, actual


class DiskFull(StoreError):
    """There is no room for a file: ``needed_bytes`` is what it takes, or 1 when that is not known."""

    hint = "remove models with `orch rm`, or point OLLAMA_MODELS to a larger disk"

    def __init__(self, path: Path, *, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(
            f"write {path}: no space left on device: {needed_bytes} bytes needed, {free_bytes} free"
        )
        self.needed_bytes, self.free_bytes = needed_bytes, free_bytes


class CorruptManifest(StoreError):
    """A manifest that cannot be understood. Nothing removes it but an explicit delete."""

    hint = "delete the model, then pull or create it again"

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"invalid manifest {path}: {reason}")
        self.path, self.reason = path, reason


class DamagedModel(StoreError):
    """A model whose manifest is good, but not the files it lists."""

    hint = "pull or create the model again"

    def __init__(self, name: ModelName, reason: str) -> None:
        super().__init__(f"model '{name.short}' is damaged: {reason}")
        self.name, self.reason = name, reason


class IncompleteModel(DamagedModel):
    """A model of which a file is not there at all."""


def disk_error(verb: str, path: Path, error: OSError, *, needed_bytes: int = 0) -> StoreError:
    """``error`` in the words of the store: ``open /models/x: permission denied``."""
    if error.errno in _DISK_FULL:
        return DiskFull(path, needed_bytes=needed_bytes, free_bytes=free_bytes(path))
    return StoreError(f"{verb} {path}: {reason_of(error)}")


def check_room(path: Path, needed_bytes: int) -> None:
    """Raises ``DiskFull`` when there is less room for a file at ``path``; not where that cannot be told."""
    free = free_bytes(path)
    if needed_bytes > free > 0:
        raise DiskFull(path.parent, needed_bytes=needed_bytes, free_bytes=free)


def free_bytes(path: Path) -> int:
    """Bytes that may be written where ``path`` is or will be; 0 if that cannot be told."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize
