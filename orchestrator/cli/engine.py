"""``orch engine``: build the native engine, list the engines there are, examine one, remove old builds."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.grammar import UsageError
from orchestrator.cli.tables import Row, block, table
from orchestrator.llama_cpp.cache import Build, BuildCache
from orchestrator.llama_cpp.errors import EngineBuildError, MalformedPin
from orchestrator.llama_cpp.project import Project, find_project
from orchestrator.runners.engines import EngineInfo, EngineKind, find_engine
from orchestrator.units import counted, format_bytes, format_distance

if TYPE_CHECKING:
    from orchestrator.llama_cpp.prune import Leftover

_ACTIONS = "build, list, doctor, prune"
_WIDEST = 500
"""Commands are not wrapped: they are copied."""


def engine(action: str, *, preset: str = "", jobs: int = 0, dry_run: bool = False, yes: bool = False) -> int:
    """Do one of the things that can be done with engines; gives the exit status."""
    match action:
        case "build":
            return _build(preset or _usual_preset(), jobs or None)
        case "list":
            return _list()
        case "doctor":
            return _doctor()
        case "prune":
            return _prune(dry_run=dry_run, yes=yes)
    raise UsageError(f"unknown action {action!r} for engine, there are {_ACTIONS}")


def _build(preset: str, jobs: int | None) -> int:
    from orchestrator.llama_cpp.build import Progress, build

    environ = dict(os.environ)
    progress = _Progress()
    cache = BuildCache.of(environ)
    try:
        made = build(
            _project(),
            cache,
            preset,
            environ=environ,
            progress=Progress(progress.say, progress.step),
            jobs=jobs,
        )
    except EngineBuildError as error:
        # the way on is for logs of machines too, not for terminals alone
        progress.say(f"Error: {error}\n{error.hint}")
        return 1
    finally:
        progress.end()
    print(made.library / "llama-server")
    return 0


def _list() -> int:
    from orchestrator.config import Config
    from orchestrator.runners.engines import EngineNotFound, engines

    environ = dict(os.environ)
    used = None
    try:
        used = _used(environ)
    except EngineNotFound as error:
        print(f"{error}; {error.hint}", file=sys.stderr)
    found = list(engines(environ))
    if used is not None and Config.from_environ(environ).llama_server and used not in found:
        found.insert(0, used)
    rows = _rows(found, used, BuildCache.of(environ).builds(), environ)
    print(block([("USED", "KIND", "BUILD", "COMMAND"), *rows], limit=_WIDEST), end="")
    return 0


def _rows(
    found: Sequence[EngineInfo], used: EngineInfo | None, builds: Sequence[Build], environ: Mapping[str, str]
) -> Iterator[Row]:
    """A row for each engine, and for each build that no engine comes from any more."""
    names = {build.library: f"{build.facts.tag} {build.facts.preset}" for build in builds}
    for engine in found:
        name = names.pop(engine.library_dir, "") if engine.library_dir else ""
        command = " ".join(engine.argv_prefix)
        yield "*" if engine == used else "", engine.kind.value, name or _version(engine, environ), command
    for library, name in names.items():
        yield "", "old build", name, str(library)


def _version(engine: EngineInfo, environ: Mapping[str, str]) -> str:
    """What an engine that is no build of ours says of itself, without its commit."""
    from orchestrator.doctor.examination import version_of

    return version_of(engine, environ).partition(" (")[0]


def _doctor() -> int:
    """Print what an examination finds; the status is 1 when the engine cannot serve."""
    from orchestrator.doctor.examination import examine
    from orchestrator.doctor.report import report

    environ = dict(os.environ)
    result = examine(_used(environ), environ)
    print(report(result), end="")
    _print_means_to_build(environ)
    return 0 if result.serves else 1


def _prune(*, dry_run: bool, yes: bool) -> int:
    """Show what of the cache no engine comes from any more, and remove it if that is wanted."""
    from orchestrator.cli.confirmation import confirmed
    from orchestrator.llama_cpp.prune import leftovers, remove

    environ = dict(os.environ)
    cache = BuildCache.of(environ)
    found = leftovers(cache, _project(), spared=_folders_in_use(environ))
    if not found:
        print("there is nothing to remove")
        return 0
    print(
        table(("KIND", "NAME", "SIZE", "USED"), [_leftover_row(each, time.time()) for each in found]), end=""
    )
    print(f"\n{counted(len(found), 'item')}, {format_bytes(sum(each.size_bytes for each in found))} in all")
    if dry_run or not (yes or confirmed()):
        return 0
    gone = [each for each in found if remove(cache, each)]
    for each in found:
        if each not in gone:
            print(f"{each.name} stays: a daemon or a build has it")
    print(f"removed {counted(len(gone), 'item')}, {format_bytes(sum(each.size_bytes for each in gone))}")
    return 0


def _folders_in_use(environ: Mapping[str, str]) -> set[Path]:
    """Folders of every engine that can be found or is named."""
    from orchestrator.runners.engines import EngineNotFound, engines

    found = list(engines(environ))
    with suppress(EngineNotFound):
        found.append(_used(environ))
    return {engine.library_dir for engine in found if engine.library_dir is not None}


def _leftover_row(leftover: Leftover, now: float) -> Row:
    size, used = format_bytes(leftover.size_bytes), format_distance(leftover.used_s - now)
    return leftover.kind.value, leftover.name, size, used


def _print_means_to_build(environ: Mapping[str, str]) -> None:
    from orchestrator.llama_cpp.errors import MissingTool
    from orchestrator.llama_cpp.tools import find_tools

    project = find_project()
    if project is None:
        return
    try:
        tools = find_tools(environ)
        means = ", ".join(filter(None, (tools.cmake, tools.generator, tools.compiler, tools.ccache)))
    except MissingTool as error:
        means = f"no: {error} ({error.hint})"
    print(f"pinned     llama.cpp {project.pin.tag}")
    print(f"can build  {means}")


def _used(environ: Mapping[str, str]) -> EngineInfo:
    """The engine that a daemon with this environment takes."""
    from orchestrator.config import Config

    config = Config.from_environ(environ)
    only = None if config.engine == "auto" else EngineKind(config.engine)
    return find_engine(environ, named=config.llama_server, only=only)


def _project() -> Project:
    project = find_project()
    if project is None:
        raise MalformedPin("there is no llama/ beside this program, so there is nothing to build from")
    return project


def _usual_preset() -> str:
    is_apple = platform.system() == "Darwin" and platform.machine() == "arm64"
    return "metal" if is_apple else "native"


class _Progress:
    """Steps on stderr; on a terminal the number of files compiled in place."""

    def __init__(self) -> None:
        self._is_counting = False

    def say(self, text: str) -> None:
        self.end()
        print(text, file=sys.stderr, flush=True)

    def step(self, done: int, of: int) -> None:
        if sys.stderr.isatty():
            self._is_counting = True
            print(f"\r  {done} of {of}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Finish the line with the count."""
        if self._is_counting:
            self._is_counting = False
            print(file=sys.stderr)
