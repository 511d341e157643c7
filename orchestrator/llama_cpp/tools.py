"""The programs that building needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.llama_cpp.errors import MissingTool
from orchestrator.llama_cpp.packages import package_manager

OLDEST_CMAKE = (3, 23)
_COMPILERS = ("c++", "g++", "clang++")
_USUAL_FOLDERS = {"cuda": "/usr/local/cuda/bin", "rocm": "/opt/rocm/bin"}
"""Where the compiler of a preset's toolkit is if it is not on ``PATH``."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Where the programs are."""

    cmake: str
    generator: str
    """How CMake is to drive the compiler."""
    compiler: str
    ccache: str | None
    path: str
    """The ``PATH`` under which they were found."""


def find_tools(environ: Mapping[str, str], preset: str = "") -> Tools:
    """Look for the programs that every build needs; what else ``preset`` does, see ``toolkits``.

    Raises ``MissingTool``.
    """
    path = search_path(environ, preset)
    cmake = shutil.which("cmake", path=path)
    if cmake is None:
        raise MissingTool("there is no cmake", f"install it: {_how('cmake')}, or `pip install cmake ninja`")
    if (version := _version(cmake)) < OLDEST_CMAKE:
        oldest = ".".join(map(str, OLDEST_CMAKE))
        raise MissingTool(
            f"cmake {'.'.join(map(str, version))} is too old, {oldest} is needed", "`pip install cmake ninja`"
        )
    compiler = _compiler(environ, path)
    if compiler is None:
        raise MissingTool("there is no C++ compiler", f"install one: {_how('g++')}, or set CXX")
    ninja = shutil.which("ninja", path=path)
    generator = "Ninja" if ninja else "Unix Makefiles"
    if not ninja and shutil.which("make", path=path) is None:
        raise MissingTool("there is neither ninja nor make", f"install it: {_how('ninja-build')}")
    return Tools(cmake, generator, compiler, shutil.which("ccache", path=path), path)


def search_path(environ: Mapping[str, str], preset: str = "") -> str:
    """Where programs are looked for: ``PATH``, the folders of this Python and of the preset's toolkit."""
    folders = [environ.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    return os.pathsep.join([*folders, *filter(None, [_USUAL_FOLDERS.get(preset)])])


def _compiler(environ: Mapping[str, str], path: str) -> str | None:
    names = (environ["CXX"].split()[0],) if environ.get("CXX", "").strip() else _COMPILERS
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


def _version(cmake: str) -> tuple[int, ...]:
    try:
        said = subprocess.run(
            [cmake, "--version"], capture_output=True, text=True, timeout=30, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    match = re.search(r"(\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else ()


def _how(package: str) -> str:
    """The command that installs a program of building."""
    manager = package_manager()
    if manager is None:
        return f"the package {package} of your system"
    if manager.name == "brew":
        return "`xcode-select --install`" if package == "g++" else manager.command(package.split("-")[0])
    names = {"g++": "gcc-c++"} if manager.name in ("dnf", "zypper") else {}
    return manager.command(names.get(package, package))
