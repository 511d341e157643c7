"""Environment variables that show an engine the chosen GPUs and no others.

Source: ``discovery-build`` §4.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from orchestrator.domain.devices import Device

_NUMERIC_ROCM_VARIABLES = ("HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES")


def visibility(devices: Sequence[Device], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables for ``devices``; none leave everything as it is."""
    variables: dict[str, str] = {}
    by_library: dict[str, list[Device]] = {}
    for device in devices:
        by_library.setdefault(device.library, []).append(device)
    cuda, vulkan, rocm = (by_library.get(name, []) for name in ("CUDA", "Vulkan", "ROCm"))
    if cuda and (len(cuda) == len(devices) or len(cuda) == 1):
        variables["CUDA_VISIBLE_DEVICES"] = _ids(cuda)
    if len(vulkan) == 1:
        variables["GGML_VK_VISIBLE_DEVICES"] = _ids(vulkan)
    if rocm:
        variables |= _rocm(rocm, environ)
    return variables


def _rocm(devices: Sequence[Device], environ: Mapping[str, str]) -> dict[str, str]:
    numeric = next((name for name in _NUMERIC_ROCM_VARIABLES if _is_numeric(environ.get(name, ""))), None)
    if sys.platform != "linux":
        return {numeric or "HIP_VISIBLE_DEVICES": _ids(devices)}
    variables = {"ROCR_VISIBLE_DEVICES": _ids(devices)}
    if numeric is not None and "ROCR_VISIBLE_DEVICES" not in environ:
        # it counts among the devices that ROCR_VISIBLE_DEVICES has left
        variables[numeric] = ",".join(str(index) for index in range(len(devices)))
    return variables


def _ids(devices: Sequence[Device]) -> str:
    return ",".join(device.filter_id or device.id for device in devices)


def _is_numeric(text: str) -> bool:
    return bool(text) and all(part.strip().isdigit() for part in text.split(","))
