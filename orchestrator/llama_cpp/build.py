"""One build of the engine: source, CMake, compiler, cache."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.llama_cpp import tree
from orchestrator.llama_cpp.cache import LIBRARY, Build, BuildCache, BuildFacts
from orchestrator.llama_cpp.errors import BuildFailed, EngineBuildError
from orchestrator.llama_cpp.project import Project
from orchestrator.llama_cpp.sources import Say, named_folder, prepare
from orchestrator.llama_cpp.toolkits import check_toolkit
from orchestrator.llama_cpp.tools import Tools, find_tools

_LINES_KEPT = 200
_LINES_TOLD = 12
_WIDEST = 200
"""A compiler's command line is longer, and tells nobody anything."""
_COMPLAINT = re.compile(r"CMake Error|.*\berror: |.*undefined reference|.*No space left on device|.*\*\*\* ")
_STEP = re.compile(r"\[\s*(\d+)(?:/(\d+)\]|%\])")
"""Ninja's "[12/218]" and make's "[ 5%]"."""
_OUT_OF_MEMORY = ("Killed signal terminated program", "virtual memory exhausted", "out of memory")


class UnknownPreset(EngineBuildError):
    """There is no build of that name."""

    def __init__(self, preset: str, project: Project) -> None:
        system = project.presets_elsewhere.get(preset)
        super().__init__(
            f"the preset {preset} is for {system} only" if system else f"unknown preset {preset!r}"
        )
        self.hint = "presets: " + ", ".join(f"{name} ({use})" for name, use in project.presets.items())


@dataclass(frozen=True, slots=True)
class Progress:
    """Where those who wait look."""

    say: Say
    """Told what is done next."""
    step: Callable[[int, int], None]
    """Told how many of how many steps of compiling are done."""


def build(
    project: Project,
    cache: BuildCache,
    preset: str,
    *,
    environ: Mapping[str, str],
    progress: Progress,
    jobs: int | None = None,
) -> Build:
    """The build of ``preset``: the one in the cache, or a new one. It is the preferred one afterwards.

    Raises an ``EngineBuildError``. Two processes may ask for the same at once: one builds, the other waits.
    """
    if preset not in project.presets:
        raise UnknownPreset(preset, project)
    recipe = project.recipe(preset)
    key = _key(project.key(preset), named_folder(environ))
    if found := cache.find(key):
        progress.say(f"found {found.library}")
        cache.prefer(found)
        return found
    tools = find_tools(environ, preset)
    cmake = (tools.cmake, "-G", tools.generator)
    check_toolkit(project, preset, cmake, {**environ, "PATH": tools.path})
    with cache.lock(key, on_wait=lambda: progress.say("another process builds this; waiting for it")):
        if found := cache.find(key):
            return found
        return _Making(project, cache, preset, key, tools, environ, progress).make(recipe, jobs)


def _key(key: str, folder: Path | None) -> str:
    """Name of a build. One of somebody's own source is another one with every change of that."""
    return f"{key}-{tree.digest(folder)[:8]}" if folder else key


@dataclass(frozen=True, slots=True)
class _Making:
    """A build in the making."""

    project: Project
    cache: BuildCache
    preset: str
    key: str
    tools: Tools
    environ: Mapping[str, str]
    progress: Progress

    def make(self, recipe: str, jobs: int | None) -> Build:
        started = time.monotonic()
        work = self.cache.work(self.key)
        say = self.progress.say
        origin = prepare(
            self.project, work / "source", downloads=self.cache.downloads, environ=self.environ, say=say
        )
        made = work / "made"
        shutil.rmtree(made, ignore_errors=True)
        say(f"configuring the preset {self.preset}{' with ccache' if self.tools.ccache else ''}")
        self._run(self._configure(work), work)
        say("compiling")
        self._run([self.tools.cmake, "--build", str(work / "build"), "--parallel", *_number(jobs)], work)
        self._run(
            [self.tools.cmake, "--install", str(work / "build"), "--prefix", str(made), "--strip"], work
        )
        self._try(made / LIBRARY, work)
        seconds = round(time.monotonic() - started)
        facts = BuildFacts(self.project.pin.tag, self.preset, recipe, origin.kind, origin.patches, seconds)
        return self.cache.keep(self.key, made, facts)

    def _configure(self, work: Path) -> list[str]:
        where = ("-S", str(self.project.root), "-B", str(work / "build"))
        facts = (f"-DORCH_LLAMA_SOURCE_DIR={work / 'source'}", f"-DORCH_CCACHE_ROOT={work}")
        return [self.tools.cmake, "--preset", self.preset, *where, "-G", self.tools.generator, *facts]

    def _try(self, library: Path, work: Path) -> None:
        """What was built must at least start."""
        for program in ("llama-server", "llama-quantize"):
            if not (library / program).is_file():
                raise BuildFailed(f"CMake installed no {program}", self._hint(work))
        self._run([str(library / "llama-server"), "--version"], work)

    def _run(self, command: Sequence[str], work: Path) -> None:
        """Run one step; its output goes to the log, its last lines to the error."""
        last: deque[str] = deque(maxlen=_LINES_KEPT)
        process = subprocess.Popen(
            command,
            cwd=self.project.root,
            env={**self.environ, "PATH": self.tools.path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        with (work / "build.log").open("a", buffering=1, encoding="utf-8") as log, process:
            for line in process.stdout or ():
                log.write(line)
                last.append(line.rstrip())
                if match := _STEP.match(line):
                    self.progress.step(int(match[1]), int(match[2] or 100))
        if process.returncode:
            said = _complaint(last)
            what = f"{Path(command[0]).name} failed with exit status {process.returncode}"
            raise BuildFailed(f"{what}:\n{said}", self._hint(work, said))

    def _hint(self, work: Path, said: str = "") -> str:
        if any(sign in said for sign in _OUT_OF_MEMORY):
            return "memory ran out: build with fewer jobs, `orch engine build --jobs 1`; what is done is kept"
        return f"all of it is in {work / 'build.log'}; the next build goes on from there"


def _complaint(lines: Iterable[str]) -> str:
    """What a failed step complains of: some lines from the first complaint on, or else the last ones."""
    lines = [line[:_WIDEST] for line in lines]
    first = next((number for number, line in enumerate(lines) if _COMPLAINT.match(line)), -_LINES_TOLD)
    return "\n".join(lines[first:][:_LINES_TOLD]).strip()


def _number(jobs: int | None) -> list[str]:
    return [] if jobs is None else [str(jobs)]
