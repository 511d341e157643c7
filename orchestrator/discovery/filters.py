"""Which of the GPUs an engine lists are used, and how they are named to it later.

Source: ``discovery-build`` §2.3.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator.domain.devices import Device

logger = logging.getLogger(__name__)

_ARCHITECTURES = re.compile(r"CUDA : ARCHS = ([\d,]+)")
_VISIBILITY = {
    "CUDA": ("CUDA_VISIBLE_DEVICES",),
    "ROCm": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"),
    "Vulkan": ("GGML_VK_VISIBLE_DEVICES",),
}
_UNIFIED_MEMORY_THAT_WORKS = frozenset({"CUDA", "Metal"})


def parse_architectures(output: str) -> frozenset[int]:
    """The CUDA architectures a backend was compiled for (860 is 8.6); empty if it does not say."""
    match = _ARCHITECTURES.search(output)
    return frozenset(int(number) for number in match[1].split(",") if number) if match else frozenset()


def supported(devices: Iterable[Device], architectures: frozenset[int]) -> tuple[Device, ...]:
    """Without CUDA devices that the backend was not compiled for; what is not known is kept."""
    return tuple(device for device in devices if _is_supported(device, architectures))


def allowed(devices: Iterable[Device], *, integrated: bool | None) -> tuple[Device, ...]:
    """Without integrated GPUs that nobody wants; ``None`` keeps those known to work well."""
    return tuple(device for device in devices if _is_allowed(device, integrated))


def one_variant_each(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Of several variants of one library, the devices of the first that has any."""
    variant: dict[str, tuple[str, ...]] = {}
    return tuple(
        device
        for device in devices
        if variant.setdefault(device.library, device.library_path) == device.library_path
    )


def numbered(devices: Iterable[Device], environ: Mapping[str, str]) -> tuple[Device, ...]:
    """With ids from 0 within each library; the old id, or the user's name for it, shows it to engines."""
    counts: Counter[str] = Counter()
    result = []
    for device in devices:
        place = counts[device.library]
        counts[device.library] += 1
        tokens = _tokens(device.library, environ)
        filter_id = tokens[place] if place < len(tokens) else device.id
        result.append(replace(device, id=str(place), filter_id=filter_id))
    return tuple(result)


def _is_supported(device: Device, architectures: frozenset[int]) -> bool:
    major, minor = device.compute
    if device.library != "CUDA" or not architectures or not major:
        return True
    if major * 100 + minor * 10 in architectures:
        return True
    logger.warning(
        "GPU is too old or too new for the CUDA backend",
        extra={"device": device.name, "compute": device.compute},
    )
    return False


def _is_allowed(device: Device, integrated: bool | None) -> bool:
    if not device.integrated:
        return True
    wanted = device.library in _UNIFIED_MEMORY_THAT_WORKS if integrated is None else integrated
    if not wanted:
        logger.info(
            "dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1", extra={"device": device.name}
        )
    return wanted


def _tokens(library: str, environ: Mapping[str, str]) -> Sequence[str]:
    """The user's list of visible devices."""
    for name in _VISIBILITY.get(library, ()):
        if text := environ.get(name, "").strip():
            return [token.strip() for token in text.split(",")]
    return ()
