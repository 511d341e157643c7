"""Which of the GPUs an engine lists are used, and how they are named to it later.

Source: ``discovery-build`` §2.3.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator.domain.devices import Device
from orchestrator.units import MIB

logger = logging.getLogger(__name__)

_ARCHITECTURES = re.compile(r"CUDA : ARCHS = ([\d,]+)")
_VISIBILITY = {
    "CUDA": ("CUDA_VISIBLE_DEVICES",),
    "ROCm": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"),
    "Vulkan": ("GGML_VK_VISIBLE_DEVICES",),
}
_NARROWING = (*dict.fromkeys(itertools.chain(*_VISIBILITY.values())), "HSA_OVERRIDE_GFX_VERSION")
_BETTER_THAN_VULKAN = frozenset({"CUDA", "ROCm"})
_BRACKETS = re.compile(r"\([^)]*\)")
_UNIFIED_MEMORY_THAT_WORKS = frozenset({"CUDA", "Metal"})


def narrowing(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's variables that hide GPUs from engines, or have them taken for others."""
    return {name: environ[name] for name in _NARROWING if environ.get(name)}


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
    """Each GPU by one variant of its library only; the newest variants come first.

    The newest is used where all see the same GPUs. Where they do not, an old one may be all that knows some
    card, and one variant for all cards lets a model be spread over them.
    """
    by_library: dict[str, dict[tuple[str, ...], list[Device]]] = {}
    for device in devices:
        by_library.setdefault(device.library, {}).setdefault(device.library_path, []).append(device)
    return tuple(device for variants in by_library.values() for device in _merged(list(variants.values())))


def one_library_each(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Without what Vulkan says of GPUs that CUDA or ROCm see too: their memory is there only once."""
    listed = tuple(devices)
    better = [device for device in listed if device.library in _BETTER_THAN_VULKAN]
    return tuple(
        device
        for device in listed
        if device.library != "Vulkan" or not any(_is_same_card(device, other) for other in better)
    )


def numbered(devices: Iterable[Device], environ: Mapping[str, str]) -> tuple[Device, ...]:
    """With ids from 0 within each library; the old id, or the user's name for it, shows it to engines.

    The user's list names what the engine listed, so it is the old id that counts in it.
    """
    counts: Counter[str] = Counter()
    result = []
    for device in devices:
        place = counts[device.library]
        counts[device.library] += 1
        tokens, listed = _tokens(device.library, environ), int(device.id)
        filter_id = tokens[listed] if listed < len(tokens) else device.id
        result.append(replace(device, id=str(place), filter_id=filter_id))
    return tuple(result)


def _merged(variants: Sequence[Sequence[Device]]) -> tuple[Device, ...]:
    """The GPUs of one library's variants, each once."""
    agree = len({frozenset(map(_card, devices)) for devices in variants}) == 1
    cards: dict[tuple[str, str], Device] = {}
    for devices in variants if agree else reversed(variants):
        for device in devices:
            cards.setdefault(_card(device), device)
    return tuple(cards.values())


def _card(device: Device) -> tuple[str, str]:
    """What tells a GPU from others in every variant: all of them list the same ones in the same order."""
    return device.id, device.description


def _is_same_card(one: Device, other: Device) -> bool:
    tolerance = max(max(one.total_bytes, other.total_bytes) // 20, 512 * MIB)
    is_near = abs(one.total_bytes - other.total_bytes) <= tolerance
    return is_near and _plain(one.description) == _plain(other.description)


def _plain(description: str) -> str:
    """Without what the driver adds in brackets, and in one way of writing."""
    return " ".join(re.findall(r"[a-z0-9]+", _BRACKETS.sub(" ", description.lower())))


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
