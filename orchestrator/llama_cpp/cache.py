"""Builds of the engine, kept outside the checkout so that the next one finds them.

::

    ~/.cache/orch/llama/
        b11434-native-0123456789ab/        one build, whole: lib/orch/ and build.json
        b11434-native-0123456789ab.work/   one being made, or one that failed: source, build, build.log
        b11434-native-0123456789ab.lock    held while it is made
        downloads/                         archives, by checksum
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from orchestrator.llama_cpp.project import Project

LIBRARY = Path("lib", "orch")
"""Where the programs are below the folder of a build, and below an installation's prefix."""

FACTS = "build.json"
"""What makes a folder a build. Whoever uses the build holds it, see ``in_use``."""
WORK = ".work"
"""What the folder of a build in the making ends with."""


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """What is known of a build."""

    tag: str
    preset: str
    recipe: str
    """What decided how it came out, see ``Project.recipe``."""
    source: str
    """How its source came: ``git``, ``sdist`` or ``folder``."""
    patches: tuple[str, ...]
    seconds: int
    """How long it took."""

    @classmethod
    def parse(cls, text: str) -> BuildFacts | None:
        """Read ``build.json``; ``None`` when it is none of ours."""
        try:
            document = json.loads(text)
            return cls(**{**document, "patches": tuple(document["patches"])})
        except (ValueError, KeyError, TypeError):
            return None

    def is_of(self, project: Project) -> bool:
        """Whether ``project`` as it is now would come out the same."""
        return self.recipe == project.recipe(self.preset)


@dataclass(frozen=True, slots=True)
class Build:
    """A build that is whole."""

    folder: Path
    facts: BuildFacts

    @property
    def library(self) -> Path:
        """Folder of its programs and libraries."""
        return self.folder / LIBRARY

    @property
    def asked_for_ns(self) -> int:
        """When somebody last asked for it."""
        return (self.folder / FACTS).stat().st_mtime_ns


@dataclass(frozen=True, slots=True)
class BuildCache:
    """The folder of the builds."""

    root: Path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> BuildCache:
        """The cache of this user."""
        home = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache")
        return cls(home / "orch" / "llama")

    @property
    def downloads(self) -> Path:
        return self.root / "downloads"

    def builds(self) -> tuple[Build, ...]:
        """Every whole build, the one last asked for first."""
        folders = (file.parent for file in self.root.glob(f"*/{FACTS}") if file.parent.suffix != WORK)
        found = [build for folder in folders if (build := self.find(folder.name))]
        return tuple(sorted(found, key=lambda build: build.asked_for_ns, reverse=True))

    def builds_of(self, project: Project) -> tuple[Build, ...]:
        """The builds that ``project`` as it is now would give, the one last asked for first."""
        return tuple(build for build in self.builds() if build.facts.is_of(project))

    def find(self, key: str) -> Build | None:
        """The build ``key``, if it is there."""
        try:
            facts = BuildFacts.parse((self.root / key / FACTS).read_text())
        except FileNotFoundError:
            return None
        return Build(self.root / key, facts) if facts else None

    def prefer(self, build: Build) -> None:
        """Make ``build`` the one last asked for."""
        os.utime(build.folder / FACTS)

    def work(self, key: str) -> Path:
        """Folder to make the build ``key`` in. What an earlier attempt left there is gone on with."""
        folder = self.root / f"{key}{WORK}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def keep(self, key: str, made: Path, facts: BuildFacts) -> Build:
        """Take over the folder ``made`` as the build ``key``; it appears whole."""
        (made / FACTS).write_text(json.dumps(asdict(facts), indent=2) + "\n")
        folder = self.root / key
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
        shutil.rmtree(self.root / f"{key}{WORK}", ignore_errors=True)
        return Build(folder, facts)

    @contextmanager
    def lock(self, key: str, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold the build ``key``; ``on_wait`` is told when another process has it.

        Without it nobody waits: raises ``BlockingIOError``.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if on_wait is None:
                    raise
                on_wait()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


@contextmanager
def in_use(library: Path | None) -> Iterator[None]:
    """Keep the build whose programs are in the folder ``library`` from being pruned.

    Programs from elsewhere need no keeping: only builds are ever pruned.
    """
    facts = library.parent.parent / FACTS if library is not None else None
    if facts is None or not facts.is_file():
        yield
        return
    descriptor = os.open(facts, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)
