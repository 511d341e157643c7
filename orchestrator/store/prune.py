"""Removing blobs that nothing uses.

Several programs may work on one store, so what is young stays: it may belong to a model whose manifest is not
written yet. Files that vanish meanwhile are somebody else's work and no error. Source: ``store`` §5.
"""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from orchestrator.domain.digests import Digest, InvalidDigest
from orchestrator.errors import StoreError
from orchestrator.store.layout import StoreLayout
from orchestrator.store.manifests import TEMPORARY_PREFIX, ManifestStore

logger = logging.getLogger(__name__)

SPARED_AGE = timedelta(hours=1)
"""Files younger than this are left alone."""


def prune_unused(layout: StoreLayout, manifests: ManifestStore, *, now: datetime) -> int:
    """Remove old blobs that no manifest uses, and old remains of interrupted work; returns how many went.

    For the start of the daemon. Nothing is removed while there is a manifest that cannot be read: what it
    uses is not known.
    """
    oldest_spared = (now - SPARED_AGE).timestamp()
    candidates = _old_files(layout.blobs, oldest_spared)
    leftovers = [
        path for path in _old_files(layout.manifests, oldest_spared) if path.name.startswith(TEMPORARY_PREFIX)
    ]
    try:
        manifests.check()
        # read after the candidates were chosen, so that references made meanwhile are seen
        used = _file_names(manifests.digests_in_use())
    except StoreError as error:
        logger.warning(
            "corrupt manifests detected, skipping prune operation.  Re-pull or delete to clear",
            extra={"reason": str(error)},
        )
        return 0
    unused = [path for path in candidates if path.name.lower() not in used]
    removed = sum(_remove(path) for path in unused + leftovers if _is_old(path, oldest_spared))
    manifests.remove_empty_directories()
    return removed


def remove_if_unused(layout: StoreLayout, manifests: ManifestStore, digests: Iterable[str]) -> int:
    """Remove those of ``digests`` that no manifest uses, whatever their age; returns how many went.

    For the parts of a manifest that was deleted or replaced just now. Raises ``StoreError``.
    """
    used = _file_names(manifests.digests_in_use())
    return sum(_remove(layout.blobs / name) for name in _file_names(digests) if name not in used)


def _old_files(directory: Path, oldest_spared: float) -> list[Path]:
    """Old files directly in ``directory``; the files of one download are as young as the youngest of them."""
    youngest: dict[str, float] = {}
    for path in _files(directory):
        download = _download(path)
        youngest[download] = max(_modified(path) or 0.0, youngest.get(download, 0.0))
    return [
        path
        for path in _files(directory)
        if _is_old(path, oldest_spared) and youngest.get(_download(path), 0.0) <= oldest_spared
    ]


def _download(path: Path) -> str:
    """What the files of one download have in common; the name itself for other files."""
    digest, partial, _ = path.name.partition("-partial")
    return digest + partial


def _files(directory: Path) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if _modified(path) is not None]
    except OSError:
        return []


def _is_old(path: Path, oldest_spared: float) -> bool:
    modified = _modified(path)
    return modified is not None and modified <= oldest_spared


def _modified(path: Path) -> float | None:
    """Time of the last change of a regular file; ``None`` for what is no file or gone."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_mtime if stat.S_ISREG(found.st_mode) else None


def _file_names(digests: Iterable[str]) -> set[str]:
    names = set()
    for digest in digests:
        try:
            names.add(Digest.parse(digest).file_name.lower())
        except InvalidDigest:
            continue  # names no file
    return names


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        logger.warning("could not remove a blob", extra={"path": path, "reason": error.strerror})
        return False
    logger.info("removed unused blob", extra={"path": path})
    return True
