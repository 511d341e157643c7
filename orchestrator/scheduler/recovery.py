"""Memory of GPUs that comes back: drivers free what a process had a little after its end.

Until then a start would see less than there is: the next model would go to the GPU in part only, or another
one would have to leave for nothing. Source: ``scheduler`` §12. Ollama measures before and after the end of
every process; here the figures of the time when the model was loaded tell what has to be free again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orchestrator.domain.devices import Device
from orchestrator.domain.durations import SECOND_NS
from orchestrator.scheduler.admission import known_use
from orchestrator.scheduler.placement import DeviceKey
from orchestrator.scheduler.world import Departure, Ready, Stopping

INTERVAL_NS = SECOND_NS // 4
"""From one look at the devices to the next."""
PATIENCE_NS = 5 * SECOND_NS


def departure(runner: Stopping, others: Collection[Ready], now: int) -> Departure | None:
    """What to wait for after the end of ``runner``; ``None`` if it gives no memory of a GPU back.

    ``others`` are the runners that stay. What those loaded later took of the same devices does not come back.
    """
    devices = {_key(device): device.free_bytes for device in runner.devices if not device.integrated}
    if not runner.memory.vram_bytes or not devices or _is_one_metal(runner.devices):
        return None
    later = known_use([other for other in others if other.serial > runner.serial])
    taken = sum(later.get(key, 0) for key in devices)
    enough = sum(devices.values()) - taken - runner.memory.vram_bytes // 4
    return Departure(frozenset(devices), enough, now + PATIENCE_NS)


def is_awaited(left: Departure, devices: Iterable[Device], now: int) -> bool:
    """Whether most of the memory of a runner that ``left`` is still to come, and worth waiting for."""
    free = sum(device.free_bytes for device in devices if _key(device) in left.devices)
    return now < left.until and free < left.enough_bytes


def _is_one_metal(devices: Collection[Device]) -> bool:
    return [device.library for device in devices] == ["Metal"]


def _key(device: Device) -> DeviceKey:
    return device.library, device.id
