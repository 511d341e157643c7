"""Memory of GPUs comes back a little after the end of a process, and starts wait for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.domain.devices import Device
from orchestrator.runners.base import MemoryUse
from orchestrator.scheduler.effects import Reason, StartLoad
from orchestrator.scheduler.settings import SchedulerSettings
from tests.scheduler.simulation import Simulation
from tests.scheduler.specs import GIB, a_spec

GPU = Device(library="CUDA", id="0", name="CUDA0", total_bytes=24 * GIB, free_bytes=23 * GIB)
RED, BLUE, GREEN = (a_spec(name, size_bytes=9 * GIB) for name in ("red", "blue", "green"))


class Desk(Simulation):
    """A machine with one GPU that tells late what is free on it."""

    def __init__(self, gpu: Device = GPU, *, settings: SchedulerSettings | None = None) -> None:
        super().__init__(settings, devices=(gpu,), memory_of=_on_the_gpu, load_s=1)

    def reports(self, free_bytes: int, *, at: float) -> None:
        """From then on so much is free."""

        def report() -> None:
            self.devices = tuple(replace(device, free_bytes=free_bytes) for device in self.devices)

        self.at(at, report)


def _on_the_gpu(start: StartLoad) -> MemoryUse:
    size = start.order.spec.files.facts.size_bytes
    return MemoryUse(size, size, {"CUDA0": size}) if start.order.devices else MemoryUse(size)


def crowded(gpu: Device = GPU, **settings: Any) -> Desk:
    """Red and blue are loaded, and there is no room for another."""
    desk = Desk(gpu, settings=SchedulerSettings(**settings))
    desk.ask(RED, at=0)
    desk.reports(14 * GIB, at=2)
    desk.ask(BLUE, at=3)
    desk.reports(5 * GIB, at=5)
    return desk


def test_a_start_waits_for_the_memory_that_was_given_back_and_nobody_else_leaves() -> None:
    desk = crowded()
    call = desk.ask(GREEN, at=10)
    desk.reports(14 * GIB, at=12)
    desk.run()
    assert desk.stops == [("/models/red", Reason.EVICTED)]
    assert desk.loaded == ["blue", "green"]
    assert 12 <= (call.granted_at or 0) - 1 <= 12.3


def test_what_came_later_does_not_come_back_with_it() -> None:
    desk = crowded()
    desk.ask(GREEN, at=10)
    desk.reports(12 * GIB, at=11)  # of the 23 that were free before red was loaded blue has 9
    desk.run(until=14)
    assert desk.loaded == ["blue", "green"]


def test_figures_that_do_not_lag_cost_no_time() -> None:
    desk = crowded()
    call = desk.ask(GREEN, at=10)
    desk.reports(14 * GIB, at=10)
    desk.run()
    assert (call.granted_at or 0) < 11.2


def test_memory_that_does_not_come_back_is_waited_for_five_seconds() -> None:
    desk = Desk(settings=SchedulerSettings(max_loaded=1))
    desk.ask(RED, at=0)
    desk.reports(5 * GIB, at=2)
    call = desk.ask(a_spec("huge", size_bytes=200 * GIB), at=10)
    desk.run()
    assert 15 <= (call.granted_at or 0) - 1 <= 15.5


def test_a_reload_waits_too() -> None:
    desk = crowded()
    call = desk.ask(a_spec("red", size_bytes=9 * GIB, num_ctx=8192), at=10)
    desk.reports(14 * GIB, at=11)
    desk.run()
    assert 11 <= (call.granted_at or 0) - 1 <= 11.3


def test_the_memory_of_a_process_that_died_is_waited_for_too() -> None:
    desk = crowded()
    desk.crash(RED, at=9)
    call = desk.ask(GREEN, at=10)
    desk.reports(14 * GIB, at=11)
    desk.run()
    assert desk.loaded == ["blue", "green"]
    assert 11 <= (call.granted_at or 0) - 1 <= 11.3


def test_a_model_for_the_cpu_waits_for_no_gpu() -> None:
    desk = crowded(max_loaded=2)
    call = desk.ask(a_spec("cpu", num_gpu=0), at=10)
    desk.run()
    assert (call.granted_at or 0) < 11.2


def test_who_asks_when_all_is_long_over_does_not_wait() -> None:
    desk = crowded()
    desk.unload(RED, at=6)
    call = desk.ask(a_spec("small", size_bytes=GIB), at=30)
    desk.run()
    assert (call.granted_at or 0) < 31.1


@pytest.mark.parametrize(
    "gpu",
    [
        replace(GPU, integrated=True),
        replace(GPU, library="Metal", name="Metal0"),
    ],
)
def test_memory_that_is_the_hosts_is_not_waited_for(gpu: Device) -> None:
    desk = crowded(gpu, max_loaded=2)
    call = desk.ask(a_spec("small", size_bytes=GIB), at=10)
    desk.run()
    assert (call.granted_at or 0) < 11.2
