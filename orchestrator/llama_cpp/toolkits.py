"""What a preset for GPUs needs besides a compiler: is it there, and what brings it.

CMake is asked (``llama/toolkits``), as it is CMake that the build will find it with. That takes a second; the
build itself would say so after many pages of other things.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.llama_cpp.errors import MissingTool
from orchestrator.llama_cpp.packages import package_manager
from orchestrator.llama_cpp.project import Project

_PATIENCE_S = 120


@dataclass(frozen=True, slots=True)
class _Toolkit:
    name: str
    packages: Mapping[str, str]
    """What brings it, by package manager."""
    elsewhere: str
    """What to do where no package does."""


_TOOLKITS = {
    "cuda": _Toolkit(
        "the CUDA toolkit",
        {"apt-get": "nvidia-cuda-toolkit", "pacman": "cuda"},
        "fetch it from https://developer.nvidia.com/cuda-downloads (Debian has the package in non-free); "
        "if it is not in /usr/local/cuda, set CUDAToolkit_ROOT to its folder and CUDACXX to its nvcc",
    ),
    "rocm": _Toolkit(
        "ROCm 6.1 or newer",
        {"dnf": "rocm-hip-devel hipblas-devel rocblas-devel", "pacman": "rocm-hip-sdk"},
        "fetch it as https://rocm.docs.amd.com says; if it is not in /opt/rocm, set ROCM_PATH to its folder",
    ),
    "vulkan": _Toolkit(
        "the Vulkan SDK",
        {
            "apt-get": "libvulkan-dev glslc spirv-headers",
            "dnf": "vulkan-headers vulkan-loader-devel glslc spirv-headers-devel",
            "pacman": "vulkan-headers vulkan-icd-loader shaderc spirv-headers",
            "zypper": "vulkan-devel shaderc spirv-headers",
            "apk": "vulkan-headers vulkan-loader-dev shaderc spirv-headers",
            "brew": "vulkan-headers vulkan-loader shaderc spirv-headers molten-vk",
        },
        "fetch the SDK from https://vulkan.lunarg.com and set VULKAN_SDK to its folder",
    ),
}


def check_toolkit(project: Project, preset: str, cmake: Sequence[str], environ: Mapping[str, str]) -> None:
    """Raises ``MissingTool`` if ``preset`` needs a toolkit of which a part is not there.

    ``cmake`` is the command, with the generator of the build if one was chosen.
    """
    if (toolkit := _TOOLKITS.get(preset)) is None:
        return
    found = _findings(project.root, preset, cmake, environ)
    missing, old = _parts(found, "-- missing: "), _parts(found, "-- too old: ")
    complaints = (f"CMake does not find {missing}" if missing else "", f"too old: {old}" if old else "")
    if missing or old:
        raise MissingTool(
            f"the preset {preset} needs {toolkit.name}; {'; '.join(filter(None, complaints))}",
            "; or ".join([*_packages(toolkit, missing), toolkit.elsewhere, "choose another preset"]),
        )


def _packages(toolkit: _Toolkit, missing: str) -> Iterator[str]:
    """The way of installing packages. What is merely too old has come with them."""
    manager = package_manager()
    packages = toolkit.packages.get(manager.name) if manager else None
    if manager and packages and missing:
        yield f"install it: {manager.command(packages)}"


def _parts(findings: str, mark: str) -> str:
    """The parts of which CMake says the same."""
    return ", ".join(line.removeprefix(mark) for line in findings.splitlines() if line.startswith(mark))


def _findings(root: Path, preset: str, cmake: Sequence[str], environ: Mapping[str, str]) -> str:
    """What CMake says. If it cannot be asked, nothing: the build will tell."""
    with tempfile.TemporaryDirectory(prefix="orch-toolkit-") as folder:
        question = [
            *cmake, "-S", str(root / "llama" / "toolkits"), "-B", folder, f"-DORCH_TOOLKIT={preset}"
        ]  # fmt: skip
        try:
            return subprocess.run(
                question,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE_S,
                check=True,
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return ""
