"""A llama.cpp of a few lines, in every form it can come in, and the real CMake project around it."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.llama_cpp import tree
from orchestrator.llama_cpp.cache import BuildCache
from orchestrator.llama_cpp.project import Project

ROOT = Path(__file__).parents[2]

LISTS = """
cmake_minimum_required(VERSION 3.14)
project(llama.cpp C CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_subdirectory(ggml)
foreach(library llama llama-common mtmd llama-server-impl llama-quantize-impl)
  add_library(${library} src/library.cpp)
endforeach()
foreach(program llama-server llama-quantize)
  add_executable(${program} tools/server/main.cpp)
endforeach()
"""
GGML = """
add_library(ggml-base ../src/library.cpp)
add_library(ggml ../src/library.cpp)
add_library(ggml-cpu ../src/library.cpp)
set(GGML_AVAILABLE_BACKENDS "ggml-cpu" CACHE INTERNAL "")
"""
MAIN = """#include <cstdio>

int main() {
    fprintf(stderr, "version: toy\\n");
    return 0;
}
"""
FILES = {
    "CMakeLists.txt": LISTS,
    "LICENSE": "free\n",
    "ggml/CMakeLists.txt": GGML,
    "src/library.cpp": "int answer() { return 42; }\n",
    "tools/server/main.cpp": MAIN,
}
BESIDE = {"models/large.gguf": "not built\n", "README.md": "not built either\n"}

PROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """import os

def build_wheel(folder, *settings, **more):
    raise NotImplementedError

def prepare_metadata_for_build_wheel(folder, *settings, **more):
    os.mkdir(folder + "/toy_source-1.0.dist-info")
    with open(folder + "/toy_source-1.0.dist-info/METADATA", "w") as file:
        file.write("Metadata-Version: 2.1\\nName: toy-source\\nVersion: 1.0\\n")
    return "toy_source-1.0.dist-info"
"""
"""A way to build the distribution, which pip asks for its name and nothing else."""

PATCH = """A word about why.

--- a/tools/server/main.cpp
+++ b/tools/server/main.cpp
@@ -2,5 +2,5 @@

 int main() {
-    fprintf(stderr, "version: toy\\n");
+    fprintf(stderr, "version: patched toy\\n");
     return 0;
 }
"""


def write_tree(root: Path) -> Path:
    """The toy source at ``root``."""
    for name, content in (FILES | BESIDE).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@dataclass
class World:
    """A project whose pin names the toy source, and the places it can be fetched from."""

    folder: Path
    environ: dict[str, str]
    said: list[str] = field(default_factory=list)

    @property
    def project(self) -> Project:
        return Project(self.folder / "project")

    @property
    def cache(self) -> BuildCache:
        return BuildCache.of(self.environ)

    @property
    def index(self) -> Path:
        """Folder that pip fetches from."""
        return self.folder / "index"

    @property
    def repository(self) -> Path:
        """Repository that git fetches from."""
        return self.folder / "repository"

    def pin(self, **changes: str) -> None:
        """Write the pin."""
        lines = {
            "tag": "b1",
            "git": self.repository.as_uri(),
            "sdist": f"toy-source==1.0 sha256:{self.archive_checksum()}",
            "tree": f"sha256:{tree.digest(self.folder / 'tree')}",
        }
        text = "".join(f"{name} {value}\n" for name, value in (lines | changes).items())
        (self.folder / "project/llama/LLAMA_CPP_VERSION").write_text(text)

    def patch(self, text: str = PATCH, name: str = "0001-toy.patch") -> None:
        """Put a patch into the project."""
        (self.folder / "project/llama/patches" / name).write_text(text)

    def publish(self) -> None:
        """Make the repository that git can reach."""
        write_tree(self.repository)
        for arguments in (
            ["init", "--quiet"],
            ["add", "--all"],
            ["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "--message", "x"],
            ["tag", "b1"],
        ):
            subprocess.run(["git", *arguments], cwd=self.repository, check=True, env=self.environ)

    def archive_checksum(self) -> str:
        archive = self.index / "toy_source-1.0.tar.gz"
        if not archive.exists():
            return "0" * 64
        return hashlib.sha256(archive.read_bytes()).hexdigest()


def write_archive(path: Path, files: dict[str, str]) -> None:
    """A source distribution with the toy source in its folder ``llama.cpp``."""
    members = {f"toy_source-1.0/llama.cpp/{name}": content for name, content in files.items()}
    members["toy_source-1.0/PKG-INFO"] = "Metadata-Version: 2.1\nName: toy-source\nVersion: 1.0\n"
    members["toy_source-1.0/pyproject.toml"] = PROJECT
    members["toy_source-1.0/backend.py"] = BACKEND
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The project with the real CMake files; neither git nor pip reach anything yet but an empty folder."""
    project = tmp_path / "project"
    (project / "llama/patches").mkdir(parents=True)
    for name in ("cmake", "toolkits"):
        shutil.copytree(ROOT / "llama" / name, project / "llama" / name)
    for name in ("CMakeLists.txt", "CMakePresets.json", "llama/CMakeLists.txt"):
        shutil.copy(ROOT / name, project / name)
    write_tree(tmp_path / "tree")
    (tmp_path / "index").mkdir()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "CCACHE_DISABLE": "1",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "index"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    world = World(tmp_path, environ)
    world.pin()
    return world
