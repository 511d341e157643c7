"""Whether a model may be loaded now, and how: the last decision before a start.

Source: ``scheduler`` §5.1, §5.2, §18.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from orchestrator.domain.devices import Device
from orchestrator.domain.loads import LoadSpec
from orchestrator.runners.base import LoadOrder
from orchestrator.scheduler.errors import NotEnoughMemory
from orchestrator.scheduler.events import Measured
from orchestrator.scheduler.memory import Prediction, batch_surcharge, predict, slots_of
from orchestrator.scheduler.placement import (
    DeviceKey,
    Placement,
    available_bytes,
    four_fifths,
    less_known_use,
    place,
)
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.scheduler.world import Ready

_LABEL_INDEX = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True)
class NeedsRoom:
    """It would fit if another model left."""


def plan_load(
    spec: LoadSpec, settings: SchedulerSettings, figures: Measured, others: Collection[Ready]
) -> LoadOrder | NeedsRoom | NotEnoughMemory:
    """The order to load ``spec`` next to the runners that are there, or why not."""
    need = _need(spec, settings, figures.sizes)
    system_free = None if figures.system is None else figures.system.free_bytes
    placement = place(
        less_known_use(figures.devices, known_use(others)),
        spec.options,
        predicted_bytes=need.total_bytes,
        system_free_bytes=system_free,
        spread=settings.spread,
    )
    available = available_bytes(placement.devices, system_free, placement.main_gpu)
    refusal = _refusal(spec, settings, figures, need, placement, available, others)
    if refusal is not None:
        return refusal
    return LoadOrder(
        spec=spec,
        parallel=slots_of(spec.files, settings.parallel),
        threads=None if placement.devices else share_of_cores(spec, settings.cores, others),
        devices=placement.devices,
        main_gpu=placement.main_gpu,
        predicted_bytes=need.total_bytes,
        available_bytes=available,
        memory=figures.system,
        mmap_loaded_bytes=sum(_mapped_bytes(runner) for runner in others),
    )


def _refusal(
    spec: LoadSpec,
    settings: SchedulerSettings,
    figures: Measured,
    need: Prediction,
    placement: Placement,
    available: int,
    others: Collection[Ready],
) -> NeedsRoom | NotEnoughMemory | None:
    if placement.devices:
        return NeedsRoom() if others and not fits_devices(spec, need, available) else None
    return _host_refusal(spec, settings, figures, others)


def fits_devices(spec: LoadSpec, need: Prediction, available: int) -> bool:
    """Whether a further model may be started on devices with so much free: it has to fit as a whole.

    A first model is always started (the engine puts as many layers on the GPU as fit), and so is one whose
    number of GPU layers was chosen by hand. Of batches only a chosen one counts: an automatic one is taken
    only where there is room for it.
    """
    facts, options = spec.files.facts, spec.options
    if 0 < options.num_gpu < facts.block_count + 1:
        return True
    generates = facts.pooling_type is None
    surcharge = batch_surcharge(options.num_batch) if generates and not spec.batch_auto else 0
    return need.total_bytes + surcharge <= four_fifths(available)


def most_bytes(settings: SchedulerSettings, figures: Measured) -> int | None:
    """What models can have of main memory if nothing else is in it; ``None`` where that is no bound."""
    if figures.devices or figures.system is None or not settings.check_memory:
        return None
    return figures.system.total_bytes + figures.system.swap_free_bytes


def exceeds(spec: LoadSpec, settings: SchedulerSettings, most: int | None) -> bool:
    """Whether ``spec`` needs more than ``most``, so that nobody need leave for it."""
    return most is not None and _resident_bytes(spec, settings) > most


def too_large(spec: LoadSpec, settings: SchedulerSettings, figures: Measured) -> NotEnoughMemory:
    """The refusal of ``spec``, with both numbers."""
    system = figures.system
    return NotEnoughMemory(
        needed_bytes=_resident_bytes(spec, settings, figures.sizes),
        available_bytes=system.free_bytes + system.swap_free_bytes if system else 0,
    )


def _resident_bytes(
    spec: LoadSpec, settings: SchedulerSettings, sizes: Mapping[Path, int] = MappingProxyType({})
) -> int:
    """What main memory has to hold: the weights too unless they are mapped and can be paged out."""
    need = _need(spec, settings, sizes)
    return need.kv_bytes if spec.options.use_mmap else need.total_bytes


def _need(spec: LoadSpec, settings: SchedulerSettings, sizes: Mapping[Path, int]) -> Prediction:
    slots = slots_of(spec.files, settings.parallel)
    return predict(spec, slots=slots, kv_type=settings.kv_cache_type, extra_bytes=_extra(spec, sizes))


def _host_refusal(
    spec: LoadSpec, settings: SchedulerSettings, figures: Measured, others: Collection[Ready]
) -> NeedsRoom | NotEnoughMemory | None:
    """Whether main memory holds it beside the others."""
    most = most_bytes(settings, figures)
    if most is None:
        return None
    refusal = too_large(spec, settings, figures)
    if refusal.needed_bytes <= refusal.available_bytes:
        return None
    return NeedsRoom() if others and refusal.needed_bytes <= most else refusal


def share_of_cores(spec: LoadSpec, cores: int, others: Collection[Ready]) -> int | None:
    """Threads for a runner on the CPU; ``None`` leaves all cores to it.

    Runners whose threads together exceed the cores slow each other down many times over, because waiting
    threads spin. A process cannot change its number later, so it gets the share that is right at its start:
    the cores divided by the runners at work then, itself included. Idle runners take nothing, so a model that
    is loaded while the others rest has all cores; the user's ``num_thread`` wins.
    """
    at_work = sum(runner.leases > 0 for runner in others)
    if at_work == 0 or spec.options.num_thread > 0:
        return None
    return max(1, cores // (at_work + 1))


def known_use(runners: Collection[Ready]) -> dict[DeviceKey, int]:
    """Bytes that runners told us they use, by device.

    A runner sees only the devices of its placement and counts them from 0, so its label ``CUDA0`` is the
    first of these.
    """
    used: dict[DeviceKey, int] = {}
    for runner in runners:
        for label, size_bytes in runner.memory.by_device.items():
            device = _device_of(label, runner.order.devices)
            if device is not None:
                key = (device.library, device.id)
                used[key] = used.get(key, 0) + size_bytes
    return used


def _device_of(label: str, devices: tuple[Device, ...]) -> Device | None:
    index = _LABEL_INDEX.search(label)
    if index is None or int(index[0]) >= len(devices):
        return None
    return devices[int(index[0])]


def _extra(spec: LoadSpec, sizes: Mapping[Path, int]) -> int:
    return sum(sizes.get(path, 0) for path in extra_files(spec))


def extra_files(spec: LoadSpec) -> tuple[Path, ...]:
    """Files that are loaded besides weights and projector, whose sizes the facts do not tell."""
    draft = (spec.files.draft,) if spec.files.draft is not None else ()
    return spec.files.adapters + draft


def _mapped_bytes(runner: Ready) -> int:
    if runner.spec.options.use_mmap is False:
        return 0
    return runner.spec.files.facts.size_bytes or runner.memory.total_bytes
