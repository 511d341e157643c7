"""What an engine prints when asked for its devices.

Source: ``discovery-build`` §2.2.
"""

from __future__ import annotations

import re
from collections import Counter

from orchestrator.domain.devices import Device
from orchestrator.units import MIB

_DEVICE = re.compile(r"^\s+(\S+): (.*) \((\d+) MiB, (\d+) MiB free\)\s*$")
_CUDA_COMPUTE = re.compile(r"Device (\d+): .*, compute capability (\d+)\.(\d+)")
_ROCM_TARGET = re.compile(r"Device (\d+): .*\bgfx([0-9a-f]+)([0-9a-f]{2})\b")
_VULKAN_UNIFIED = re.compile(r"ggml_vulkan: (\d+) = .*\| uma: 1\b")

_LIBRARIES = (
    ("CUDA", ("cuda",)),
    ("ROCm", ("rocm", "hip")),
    ("Metal", ("metal", "apple")),
    ("Vulkan", ("vulkan",)),
)


def parse_device_list(
    stdout: str, stderr: str = "", *, library_path: tuple[str, ...] = ()
) -> tuple[Device, ...]:
    """The GPUs in the answer to ``--list-devices``; ``stderr`` of a verbose run tells more of them.

    Devices without memory of their own are no GPUs. Ids count within a library, in the order of the list.
    """
    compute = _compute(stderr)
    unified = {int(match[1]) for match in _VULKAN_UNIFIED.finditer(stderr)}
    counts: Counter[str] = Counter()
    devices = []
    for match in filter(None, map(_DEVICE.match, stdout.splitlines())):
        name, description, total, free = match.groups()
        if not int(total):
            continue
        library = _library(name, description)
        index = counts[library]
        counts[library] += 1
        devices.append(
            Device(
                library=library,
                id=str(index),
                name=name,
                description=description,
                integrated=library == "Metal" or (library == "Vulkan" and index in unified),
                total_bytes=int(total) * MIB,
                free_bytes=int(free) * MIB,
                compute=compute.get(index, (0, 0)) if library in ("CUDA", "ROCm") else (0, 0),
                library_path=library_path,
            )
        )
    return tuple(devices)


def _compute(stderr: str) -> dict[int, tuple[int, int]]:
    """Compute capability by index; a ``gfx`` target's last two digits are its minor number."""
    found = {int(m[1]): (int(m[2], 16), int(m[3], 16)) for m in _ROCM_TARGET.finditer(stderr)}
    return found | {int(m[1]): (int(m[2]), int(m[3])) for m in _CUDA_COMPUTE.finditer(stderr)}


def _library(name: str, description: str) -> str:
    text = f"{name} {description}".lower()
    return next(
        (library for library, signs in _LIBRARIES if any(sign in text for sign in signs)), description
    )
