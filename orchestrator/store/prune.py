"""Removing what nothing uses: unused blobs, interrupted downloads, remains of interrupted work.

Several programs may work on one store, so what is young stays: it may belong to a model whose manifest is not
written yet. Files that vanish meanwhile are somebody else's work and no error. Source: ``store`` §5.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from orchestrator.domain.digests import Digest, InvalidDigest
from orchestrator.errors import StoreError
from orchestrator.store.layout import CONVERSION_PREFIX, StoreLayout, views_of
from orchestrator.store.manifests import TEMPORARY_PREFIX, ManifestStore

logger = logging.getLogger(__name__)

SPARED_AGE = timedelta(hours=1)
"""Files younger than this are left alone."""

RESUMABLE_AGE = timedelta(days=7)
"""So long an interrupted download may be taken up again: the start of the daemon leaves it alone."""

_PARTIAL = "-partial"

_BLOCK_BYTES = 512
"""Unit of ``st_blocks``, whatever the file system."""


class Kind(StrEnum):
    """What there is to remove."""

    BLOB = "unused blob"
    DOWNLOAD = "interrupted download"
    LEFTOVER = "leftover"


@dataclass(frozen=True, slots=True)
class Removable:
    """A file that nothing uses, or the files of one download."""

    name: str
    kind: Kind
    size_bytes: int
    """What the disk gains: files of downloads have holes."""
    modified_s: float
    """Time of the last change to any of the files."""
    paths: tuple[Path, ...]
    directory: Path | None = None
    """What they are in, if that goes too."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What would go, and what nothing uses either but is too young."""

    removable: tuple[Removable, ...] = ()
    spared: tuple[Removable, ...] = ()


def plan_prune(
    layout: StoreLayout,
    manifests: ManifestStore,
    *,
    now: datetime,
    held: Collection[str] = (),
    with_directories: bool = False,
    spare_downloads: timedelta = SPARED_AGE,
) -> PrunePlan:
    """Find what no manifest uses. ``held`` are names of blobs that running work is about to use.

    Directories are remains of conversions; Ollama leaves them alone, and so they count only on demand.
    Interrupted downloads are too young up to ``spare_downloads``. Raises ``StoreError`` while there is
    a manifest that cannot be read: what it uses is not known.
    """

    def is_young(found: Removable) -> bool:
        spared = spare_downloads if found.kind is Kind.DOWNLOAD else SPARED_AGE
        return found.modified_s > (now - spared).timestamp()

    candidates = [*_candidates(layout.blobs), *_leftovers(layout.manifests)]
    if with_directories:
        candidates += _abandoned(layout)
    manifests.check()
    # read after the candidates were found, so that references made meanwhile are seen
    used = {*blob_names(manifests.digests_in_use()), *held, *(f"{name}{_PARTIAL}" for name in held)}
    unused = [found for found in candidates if found.name.lower() not in used]
    return PrunePlan(
        tuple(found for found in unused if not is_young(found)),
        tuple(found for found in unused if is_young(found)),
    )


def carry_out(plan: PrunePlan, manifests: ManifestStore) -> int:
    """Remove what the plan says, as far as it has not changed since; returns how many files went."""
    removed = 0
    for found in plan.removable:
        paths = [path for path in found.paths if _is_unchanged(path, found.modified_s)]
        removed += sum(map(_remove, paths))
        if found.directory is not None:
            _remove_empty(found.directory)
    manifests.remove_empty_directories()
    return removed


def prune_unused(
    layout: StoreLayout, manifests: ManifestStore, *, now: datetime, held: Collection[str] = ()
) -> int:
    """Remove what no manifest uses, for the start of the daemon; returns how many files went.

    Downloads that may be resumed stay. Nothing is removed while there is a manifest that cannot be read.
    """
    try:
        plan = plan_prune(layout, manifests, now=now, held=held, spare_downloads=RESUMABLE_AGE)
    except StoreError as error:
        logger.warning(
            "corrupt manifests detected, skipping prune operation.  Re-pull or delete to clear",
            extra={"reason": str(error)},
        )
        return 0
    return carry_out(plan, manifests)


def remove_if_unused(
    layout: StoreLayout, manifests: ManifestStore, digests: Iterable[str], *, held: Collection[str] = ()
) -> int:
    """Remove those of ``digests`` that no manifest uses, whatever their age; returns how many went.

    For the parts of a manifest that was deleted or replaced just now. Raises ``StoreError``.
    """
    used = {*blob_names(manifests.digests_in_use()), *held}
    return sum(_remove(layout.blobs / name) for name in blob_names(digests) if name not in used)


def held_name(digest: Digest) -> str:
    """How ``held`` calls a blob."""
    return digest.file_name.lower()


def _candidates(directory: Path) -> list[Removable]:
    """The files directly among the blobs; those of one download are one thing, as young as the youngest."""
    groups: defaultdict[str, list[Path]] = defaultdict(list)
    for path in _files(directory):
        groups[_download(path)].append(path)
    found = [_removable(name, _kind(name), paths) for name, paths in sorted(groups.items())]
    return [each for each in found if each is not None]


def _leftovers(directory: Path) -> list[Removable]:
    """Manifests that were not written to their end."""
    paths = [path for path in _files(directory) if path.name.startswith(TEMPORARY_PREFIX)]
    found = [_removable(path.name, Kind.LEFTOVER, [path]) for path in sorted(paths)]
    return [each for each in found if each is not None]


def _abandoned(layout: StoreLayout) -> list[Removable]:
    """Directories in which models were converted, and nobody does any more."""
    found = []
    for directory in sorted(layout.root.glob(f"{CONVERSION_PREFIX}*")):
        paths = [Path(root) / name for root, _, names in os.walk(directory) for name in names]
        of_files = _removable(directory.name, Kind.LEFTOVER, paths)
        if of_files is not None:
            found.append(replace(of_files, directory=directory))
    return found


def _remove_empty(directory: Path) -> None:
    """Remove a directory with all that are in it, as far as there are no files."""
    for root, _, _ in os.walk(directory, topdown=False):
        with contextlib.suppress(OSError):
            Path(root).rmdir()


def _removable(name: str, kind: Kind, paths: Collection[Path]) -> Removable | None:
    states = {path: found for path in paths if (found := _state(path)) is not None}
    if not states:
        return None
    return Removable(
        name,
        kind,
        sum(found.st_blocks * _BLOCK_BYTES for found in states.values()),
        max(found.st_mtime for found in states.values()),
        tuple(sorted(states)),
    )


def _kind(name: str) -> Kind:
    if name.endswith(_PARTIAL):
        return Kind.DOWNLOAD
    try:
        Digest.parse(name)
    except InvalidDigest:
        return Kind.LEFTOVER
    return Kind.BLOB


def _download(path: Path) -> str:
    """What the files of one download have in common; the name itself for other files."""
    digest, partial, _ = path.name.partition(_PARTIAL)
    return digest + partial


def _files(directory: Path) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if _state(path) is not None]
    except OSError:
        return []


def _is_unchanged(path: Path, modified_s: float) -> bool:
    found = _state(path)
    return found is not None and found.st_mtime <= modified_s


def _state(path: Path) -> os.stat_result | None:
    """What is known of a regular file; ``None`` for what is no file or gone."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def blob_names(digests: Iterable[str]) -> set[str]:
    """How ``held`` calls the blobs of these digests; what is none names no file."""
    names = set()
    for digest in digests:
        try:
            names.add(held_name(Digest.parse(digest)))
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
    shutil.rmtree(views_of(path), ignore_errors=True)
    logger.info("removed unused blob", extra={"path": path})
    return True
