"""Which GPUs a model goes to. Source: ``scheduler`` §9, §7.2, §7.3.

How many of its layers go there is the engine's own decision (``--fit``).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.devices import Device
from orchestrator.domain.options import Options

logger = logging.getLogger(__name__)

DeviceKey = tuple[str, str]
"""Library and id: what tells devices apart."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The devices a runner may see, and the main one among them if one is named."""

    devices: tuple[Device, ...] = ()
    main_gpu: int | None = None


def place(
    devices: Sequence[Device],
    options: Options,
    *,
    predicted_bytes: int,
    system_free_bytes: int | None = None,
    spread: bool = False,
) -> Placement:
    """Choose among ``devices``: the one asked for, else one that holds everything, else the best group."""
    if options.num_gpu == 0:
        return Placement((), options.main_gpu)
    if len(devices) <= 1:
        return Placement(tuple(devices), options.main_gpu)
    groups = _groups(devices)
    best_group = max(groups, key=lambda group: _group_rank(group, system_free_bytes))
    if options.main_gpu is not None:
        named = [group[options.main_gpu] for group in groups if 0 <= options.main_gpu < len(group)]
        if named:
            return Placement((_best(named, system_free_bytes),), 0)
        logger.warning("no group of GPUs has a member of this index", extra={"main_gpu": options.main_gpu})
        return Placement(best_group, options.main_gpu)
    if not spread and predicted_bytes > 0:
        roomy = [
            device
            for device in devices
            if four_fifths(available_bytes((device,), system_free_bytes)) >= predicted_bytes
        ]
        if roomy:
            return Placement((_best(roomy, system_free_bytes),), 0)
    return Placement(best_group, None)


def available_bytes(
    devices: Sequence[Device], system_free_bytes: int | None = None, main_gpu: int | None = None
) -> int:
    """Free memory of ``devices``; of the main one alone if it is named.

    Integrated GPUs share main memory, so together they have no more than what is free there.
    """
    if main_gpu is not None and 0 <= main_gpu < len(devices):
        devices = (devices[main_gpu],)
    discrete = sum(device.free_bytes for device in devices if not device.integrated)
    integrated = sum(device.free_bytes for device in devices if device.integrated)
    if system_free_bytes is not None:
        integrated = min(integrated, system_free_bytes)
    return discrete + integrated


def less_known_use(devices: Iterable[Device], used: Mapping[DeviceKey, int]) -> tuple[Device, ...]:
    """Devices with what our runners are known to use taken off, where the reported figures lag behind."""
    return tuple(_less(device, used.get((device.library, device.id), 0)) for device in devices)


def _less(device: Device, used: int) -> Device:
    if used > device.total_bytes:
        logger.warning(
            "runners use more than the device has", extra={"device": device.name, "used_bytes": used}
        )
        return replace(device, free_bytes=0)
    return replace(device, free_bytes=min(device.free_bytes, device.total_bytes - used))


def four_fifths(size_bytes: int) -> int:
    """The part of free memory that a prediction may fill."""
    return size_bytes * 80 // 100


def _groups(devices: Sequence[Device]) -> list[tuple[Device, ...]]:
    """Devices by library; a model never spans two."""
    libraries = dict.fromkeys(device.library for device in devices)
    return [tuple(device for device in devices if device.library == library) for library in libraries]


def _group_rank(group: Sequence[Device], system_free_bytes: int | None) -> tuple[bool, int]:
    return any(not device.integrated for device in group), available_bytes(group, system_free_bytes)


def _best(candidates: Sequence[Device], system_free_bytes: int | None) -> Device:
    """A discrete one before an integrated one, then the one with more memory, then the first."""
    return max(
        candidates,
        key=lambda device: (not device.integrated, available_bytes((device,), system_free_bytes)),
    )
