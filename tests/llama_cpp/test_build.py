"""Builds of the toy with the real CMake project, compiler and cache."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.llama_cpp.build import Progress, UnknownPreset, build
from orchestrator.llama_cpp.cache import Build
from orchestrator.llama_cpp.errors import BuildFailed, MissingTool
from orchestrator.runners.engines import EngineKind, find_engine, find_quantizer
from tests.llama_cpp.conftest import LISTS, ROOT, World, write_tree

pytestmark = [
    pytest.mark.skipif(
        not all(map(shutil.which, ("cmake", "c++"))), reason="there is no CMake or no compiler"
    ),
    pytest.mark.timeout(180),
]


@pytest.fixture(autouse=True)
def source(world: World) -> Path:
    """The source is a folder; how it comes is tested elsewhere."""
    folder = write_tree(world.folder / "mine")
    world.environ["ORCH_LLAMA_CPP_SOURCE"] = str(folder)
    return folder


def built(world: World, preset: str = "native") -> Build:
    progress = Progress(world.said.append, lambda done, of: None)
    return build(world.project, world.cache, preset, environ=world.environ, progress=progress, jobs=2)


def version(made: Build) -> str:
    return subprocess.run([made.library / "llama-server"], capture_output=True, text=True, check=True).stderr


def test_a_build_is_whole_found_again_and_used(world: World) -> None:
    made = built(world)
    names = {path.name for path in made.library.iterdir()}
    assert {"llama-server", "llama-quantize", "libllama.so", "libggml-base.so", "PATCHES"} <= names
    assert version(made) == "version: toy\n"
    assert {path.name for path in world.cache.root.iterdir()} == {
        made.folder.name,
        f"{made.folder.name}.lock",
    }
    said = len(world.said)
    assert built(world) == made
    assert world.said[said:] == [f"found {made.library}"]
    engine = find_engine({**world.environ, "PATH": ""}, prefix=world.folder, project=world.project)
    assert engine.kind is EngineKind.NATIVE
    assert engine.library_dir == made.library
    assert find_quantizer(engine) == made.library / "llama-quantize"


def test_a_patch_makes_another_build_that_is_named_in_it(world: World) -> None:
    plain = built(world)
    world.patch()
    patched = built(world)
    assert patched.folder != plain.folder
    assert version(patched) == "version: patched toy\n"
    engine = find_engine({**world.environ, "PATH": ""}, prefix=world.folder, project=world.project)
    assert engine.library_dir == patched.library
    assert engine.patches == {"0001-toy.patch"}


def test_of_two_builders_one_builds_and_the_other_waits(world: World) -> None:
    gate = threading.Barrier(2)

    def make() -> Build:
        gate.wait()
        return built(world)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(make), pool.submit(make)
        assert first.result() == second.result()
    assert world.said.count("compiling") == 1


def test_a_failed_build_says_why_leaves_no_engine_and_is_gone_on_with(world: World, source: Path) -> None:
    good = (source / "src/library.cpp").read_text()
    world.patch("--- /dev/null\n+++ b/src/library.h\n@@ -0,0 +1 @@\n+#error no\n")
    lists = source / "CMakeLists.txt"
    lists.write_text(lists.read_text() + "\nif(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/library.h)\n"
                     "  target_compile_options(llama-server PRIVATE -include "
                     "${CMAKE_CURRENT_SOURCE_DIR}/src/library.h)\nendif()\n")  # fmt: skip
    with pytest.raises(BuildFailed, match="(?s)cmake failed with exit status 1:.*error: #error no") as caught:
        built(world)
    assert "build.log" in (caught.value.hint or "")
    assert world.cache.builds() == ()
    assert good
    (world.folder / "project/llama/patches/0001-toy.patch").unlink()
    assert version(built(world)) == "version: toy\n"


def test_cmake_alone_builds_and_installs_too(world: World) -> None:
    (world.folder / "project/orchestrator").symlink_to(ROOT / "orchestrator")
    world.patch()
    for step in (
        ["--preset", "native"],
        ["--build", "--preset", "native"],
        ["--install", "build/native", "--prefix", str(world.folder / "prefix")],
    ):
        subprocess.run(["cmake", *step], cwd=world.project.root, env=world.environ, check=True)
    engine = find_engine(world.environ, prefix=world.folder / "prefix", project=world.project)
    assert engine.library_dir == world.folder / "prefix/lib/orch"
    assert engine.patches == {"0001-toy.patch"}


def test_an_unknown_preset_is_refused_with_those_there_are(world: World) -> None:
    with pytest.raises(UnknownPreset, match="unknown preset 'fast'") as caught:
        built(world, "fast")
    for preset in ("cpu", "native", "cuda", "rocm", "vulkan"):
        assert preset in (caught.value.hint or "")


def only(folder: Path, *programs: str) -> str:
    """A ``PATH`` with nothing but some programs."""
    folder.mkdir(exist_ok=True)
    for program in programs:
        (folder / program).symlink_to(shutil.which(program) or "/")
    return str(folder)


@pytest.mark.parametrize(
    ("programs", "complaint", "advice"),
    [
        ((), "there is no cmake", "pip install cmake"),
        (("cmake",), r"there is no C\+\+ compiler", "install one"),
        (("cmake", "c++"), "there is neither ninja nor make", "install it"),
    ],
)
@pytest.mark.skipif(
    any((Path(sys.executable).parent / name).exists() for name in ("cmake", "ninja")),
    reason="this Python brings its own CMake",
)
def test_a_missing_tool_is_named(
    world: World, programs: tuple[str, ...], complaint: str, advice: str
) -> None:
    world.environ["PATH"] = only(world.folder / "bin", *programs)
    with pytest.raises(MissingTool, match=complaint) as caught:
        built(world)
    assert advice in (caught.value.hint or "")
    assert not world.cache.root.exists()


def test_an_old_cmake_is_refused(world: World) -> None:
    folder = world.folder / "bin"
    folder.mkdir()
    (folder / "cmake").write_text("#!/bin/sh\necho cmake version 3.16.3\n")
    (folder / "cmake").chmod(0o755)
    world.environ["PATH"] = f"{folder}:{world.environ['PATH']}"
    with pytest.raises(MissingTool, match=r"cmake 3\.16 is too old, 3\.23 is needed"):
        built(world)


needs_no_cuda = pytest.mark.skipif(
    bool(shutil.which("nvcc")) or Path("/usr/local/cuda").exists(), reason="there is a CUDA toolkit"
)


@needs_no_cuda
def test_a_toolkit_that_a_preset_needs_is_looked_for_first(world: World) -> None:
    with pytest.raises(MissingTool, match="the preset cuda needs the CUDA toolkit"):
        built(world, "cuda")
    assert not world.cache.root.exists()


@needs_no_cuda
def test_cmake_alone_tells_of_a_missing_toolkit_before_anything_else(world: World) -> None:
    (world.folder / "project/orchestrator").symlink_to(ROOT / "orchestrator")
    del world.environ["ORCH_LLAMA_CPP_SOURCE"]  # nothing could be fetched
    command = ["cmake", "--preset", "cuda"]
    done = subprocess.run(command, cwd=world.project.root, env=world.environ, capture_output=True, text=True)
    assert done.returncode == 1
    first, hint, *_ = (line for line in done.stderr.splitlines() if line)
    assert first == "Error: the preset cuda needs the CUDA toolkit; CMake does not find nvcc"
    assert "developer.nvidia.com" in hint


@pytest.mark.skipif(platform.system() == "Darwin", reason="this is one")
def test_a_preset_for_another_system_says_which(world: World) -> None:
    with pytest.raises(UnknownPreset, match="the preset metal is for Darwin only"):
        built(world, "metal")


def test_what_cmake_complains_of_is_told_and_not_what_it_says_besides(world: World, source: Path) -> None:
    lists = source / "CMakeLists.txt"
    chatter = "foreach(number RANGE 40)\n  message(STATUS number ${number})\nendforeach()\n"
    lists.write_text(f"{LISTS}\n{chatter}message(FATAL_ERROR such is life)\n")
    with pytest.raises(BuildFailed) as caught:
        built(world)
    first, complaint, *rest = str(caught.value).splitlines()
    assert first == "cmake failed with exit status 1:"
    assert complaint.startswith("CMake Error at ")
    assert "suchislife" in rest[0]
    assert "number40" not in str(caught.value)
