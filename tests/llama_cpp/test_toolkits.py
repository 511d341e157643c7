"""What a preset for GPUs needs is looked for before anything is built, and named if it is not there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.llama_cpp.errors import MissingTool
from orchestrator.llama_cpp.toolkits import check_toolkit
from tests.llama_cpp.conftest import World

needs_cmake = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "c++"))), reason="there is no CMake or no compiler"
)

Check = Callable[..., None]


@pytest.fixture
def check(world: World) -> Check:
    """Look for the toolkit of a preset, with some CMake."""

    def call(preset: str, cmake: str = "cmake", **environ: str) -> None:
        check_toolkit(world.project, preset, [cmake], world.environ | environ)

    return call


def answering(folder: Path, text: str) -> str:
    """A CMake of the test."""
    program = folder / "answering"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def vulkan_sdk(folder: Path, *, core: str) -> str:
    """A Vulkan SDK as far as CMake looks at it."""
    files = {
        "include/vulkan/vulkan.h": "",
        "include/vulkan/vulkan.hpp": "",
        "include/vulkan/vulkan_core.h": f"#define VK_HEADER_VERSION_COMPLETE VK_MAKE_API_VERSION(0, 1, 3, "
        f"VK_HEADER_VERSION)\n#define VK_HEADER_VERSION 7\n{core}\n",
        "lib/libvulkan.so": "",
        "bin/glslc": "",
        "share/cmake/SPIRV-Headers/SPIRV-HeadersConfig.cmake": "",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "bin/glslc").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("preset", ["cuda", "rocm", "vulkan"])
def test_what_cmake_does_not_find_is_named_with_a_way_on(check: Check, tmp_path: Path, preset: str) -> None:
    cmake = answering(tmp_path, "echo '-- fine'; echo '-- missing: the one'; echo '-- missing: the other'")
    with pytest.raises(MissingTool) as caught:
        check(preset, cmake)
    assert str(caught.value).startswith(f"the preset {preset} needs ")
    assert str(caught.value).endswith("; CMake does not find the one, the other")
    hint = caught.value.hint or ""
    assert "https://" in hint
    assert hint.endswith("; or choose another preset")


@pytest.mark.skipif(not shutil.which("apt-get"), reason="another package manager")
def test_packages_of_this_system_are_named(check: Check, tmp_path: Path) -> None:
    with pytest.raises(MissingTool) as caught:
        check("vulkan", answering(tmp_path, "echo '-- missing: glslc'"))
    assert "`apt-get install libvulkan-dev glslc spirv-headers`" in (caught.value.hint or "")


@pytest.mark.parametrize("preset", ["cpu", "native", "metal", "cuda"])
def test_what_needs_nothing_or_cannot_be_asked_is_left_to_the_build(
    check: Check, tmp_path: Path, preset: str
) -> None:
    check(preset, answering(tmp_path, "echo '-- missing: all'; exit 1"))
    check(preset, str(tmp_path / "no-such-cmake"))


@needs_cmake
def test_a_vulkan_sdk_is_found_where_the_variable_says(check: Check, tmp_path: Path) -> None:
    new = vulkan_sdk(tmp_path / "new", core="#define VK_EXT_LAYER_SETTINGS_SPEC_VERSION 2")
    check("vulkan", VULKAN_SDK=new)


@needs_cmake
def test_headers_that_are_too_old_are_told(check: Check, tmp_path: Path) -> None:
    with pytest.raises(MissingTool) as caught:
        check("vulkan", VULKAN_SDK=vulkan_sdk(tmp_path / "old", core=""))
    assert str(caught.value) == (
        "the preset vulkan needs the Vulkan SDK; too old: "
        "the Vulkan headers (1.3.7 has no VK_EXT_layer_settings)"
    )
    assert "install it" not in (caught.value.hint or "")


@needs_cmake
@pytest.mark.skipif(
    bool(shutil.which("nvcc")) or Path("/usr/local/cuda").exists() or "CUDACXX" in os.environ,
    reason="there is a CUDA toolkit",
)
def test_a_toolkit_that_is_not_there_is_not_found(check: Check) -> None:
    with pytest.raises(MissingTool, match="needs the CUDA toolkit; CMake does not find nvcc$"):
        check("cuda")


@needs_cmake
@pytest.mark.skipif(Path("/opt/rocm").exists(), reason="there is ROCm")
def test_every_part_that_is_not_there_is_named(check: Check) -> None:
    with pytest.raises(MissingTool, match="hipblas, rocblas$"):
        check("rocm")
