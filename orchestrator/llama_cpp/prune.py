"""What of the cache no build of this program will use again, and how it goes.

Nothing goes that somebody has: who builds holds the lock of the key, and a daemon holds its build, see
``cache.in_use``.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from orchestrator.llama_cpp.cache import FACTS, WORK, Build, BuildCache
from orchestrator.llama_cpp.project import Project


class Kind(Enum):
    """What is left over; the word is the one that people read."""

    BUILD = "old build"
    """Of another pin, other patches or options: the program as it is would build another."""
    UNFINISHED = "unfinished build"
    """Of the same sort, so that no build will go on from there."""
    ARCHIVE = "source archive"
    """Of another pin."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something in the cache that can go."""

    kind: Kind
    path: Path
    size_bytes: int
    used_s: float
    """When it was last asked for or written, in seconds since 1970."""

    @property
    def name(self) -> str:
        """The key of a build; the beginning of an archive's checksum."""
        return self.path.name[:12] if self.kind is Kind.ARCHIVE else self.path.name.removesuffix(WORK)


def leftovers(cache: BuildCache, project: Project, *, spared: Collection[Path] = ()) -> tuple[Leftover, ...]:
    """What ``project`` as it is now will not use; ``spared`` are folders of programs that are to stay."""
    return (
        *(_old_build(build) for build in old_builds(cache, project) if build.library not in spared),
        *(_leftover(Kind.UNFINISHED, path, path) for path in _given_up(cache, project)),
        *(_leftover(Kind.ARCHIVE, path, path) for path in _old_archives(cache, project)),
    )


def old_builds(cache: BuildCache, project: Project) -> tuple[Build, ...]:
    """The builds that ``project`` as it is now would not give."""
    return tuple(build for build in cache.builds() if not build.facts.is_of(project))


def remove(cache: BuildCache, leftover: Leftover) -> bool:
    """Remove it; false if somebody has it, or if it is gone already."""
    if leftover.kind is Kind.ARCHIVE:
        with suppress(FileNotFoundError):
            leftover.path.unlink()
            return True
        return False
    with suppress(BlockingIOError), cache.lock(leftover.name):
        return _remove_build(cache, leftover)
    return False


def _remove_build(cache: BuildCache, leftover: Leftover) -> bool:
    """Remove a folder whose key is locked. It is no build any more before the first of its files is gone."""
    work = cache.root / f"{leftover.name}{WORK}"
    if leftover.kind is Kind.BUILD:
        try:
            facts = os.open(leftover.path / FACTS, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(facts, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(work, ignore_errors=True)
            leftover.path.rename(work)
        finally:
            os.close(facts)
    was_there = work.is_dir()
    shutil.rmtree(work, ignore_errors=True)
    return was_there


def _old_build(build: Build) -> Leftover:
    return _leftover(Kind.BUILD, build.folder, build.folder / FACTS)


def _given_up(cache: BuildCache, project: Project) -> Iterator[Path]:
    """Folders of builds that were begun for what is not built any more."""
    current = tuple(project.key(preset) for preset in project.presets)
    for path in sorted(cache.root.glob(f"*{WORK}")):
        if path.is_dir() and not path.name.startswith(current):
            yield path


def _old_archives(cache: BuildCache, project: Project) -> Iterator[Path]:
    archives = sorted(cache.downloads.glob("*.tar.gz"))
    return (path for path in archives if path.name != project.pin.archive_name)


def _leftover(kind: Kind, path: Path, used: Path) -> Leftover:
    return Leftover(kind, path, _size(path), used.stat().st_mtime)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; one that goes meanwhile has none."""
    files = (
        [path]
        if path.is_file()
        else [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    )
    total = 0
    for file in files:
        with suppress(FileNotFoundError):
            total += file.lstat().st_size
    return total
