from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.loads import LoadSpec
from orchestrator.runners.base import LoadOrder, MemoryUse
from orchestrator.scheduler.admission import NeedsRoom, known_use, plan_load, share_of_cores
from orchestrator.scheduler.errors import NotEnoughMemory
from orchestrator.scheduler.events import Measured
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.scheduler.world import Ready
from tests.scheduler.specs import GIB, a_spec

GPU = Device(library="CUDA", id="GPU-a", name="CUDA0", total_bytes=24 * GIB, free_bytes=20 * GIB)
SECOND = replace(GPU, id="GPU-b", name="CUDA1")
SYSTEM = SystemMemory(total_bytes=32 * GIB, free_bytes=10 * GIB, swap_free_bytes=GIB)
SEVEN_BILLION = {"embedding_length": 4096, "head_count_max": 32, "head_count_kv_min": 8}


def a_runner(spec: LoadSpec, *, leases: int = 0, memory: MemoryUse | None = None, **order: Any) -> Ready:
    return Ready(
        key=spec.files.key,
        serial=1,
        order=LoadOrder(spec=spec, **order),
        spec=spec,
        mmap_auto=False,
        memory=memory or MemoryUse(),
        ready_at=0,
        load_ns=0,
        keep_alive_ns=0,
        last_used=0,
        vouched_at=0,
        leases=leases,
    )


def plan(
    spec: LoadSpec,
    *others: Ready,
    devices: tuple[Device, ...] = (),
    settings: SchedulerSettings | None = None,
    system: SystemMemory | None = SYSTEM,
    sizes: dict[Path, int] | None = None,
) -> LoadOrder | NeedsRoom | NotEnoughMemory:
    return plan_load(
        spec, settings or SchedulerSettings(cores=8), Measured(0, system, devices, sizes or {}), others
    )


def test_an_order_carries_what_the_launch_needs() -> None:
    spec = a_spec(num_ctx=8192, size_bytes=5 * GIB, facts=SEVEN_BILLION)
    order = plan(spec, devices=(GPU, SECOND), settings=SchedulerSettings(parallel=2))
    assert order == LoadOrder(
        spec=spec,
        parallel=2,
        devices=(GPU,),
        main_gpu=0,
        predicted_bytes=7 * GIB,
        available_bytes=20 * GIB,
        memory=SYSTEM,
    )


@pytest.mark.parametrize(
    ("size_gib", "options", "fits"),
    [
        (10, {}, True),
        (11, {}, True),
        (12, {}, False),
        (12, {"use_mmap": False}, False),
        (300, {"use_mmap": True}, True),
    ],
)
def test_without_a_gpu_main_memory_and_swap_have_to_hold_it_unless_it_is_mapped(
    size_gib: int, options: dict[str, Any], fits: bool
) -> None:
    order = plan(a_spec(size_bytes=size_gib * GIB, **options))
    assert isinstance(order, LoadOrder if fits else NotEnoughMemory)


def test_the_context_counts_even_when_the_weights_are_mapped() -> None:
    wide = a_spec(num_ctx=131072, facts=SEVEN_BILLION, use_mmap=True)
    assert isinstance(plan(wide), NotEnoughMemory)
    assert isinstance(plan(wide, settings=SchedulerSettings(kv_cache_type="q4_0")), LoadOrder)


def test_the_sizes_of_adapters_and_draft_count() -> None:
    adapter, draft = Path("/lora"), Path("/draft")
    spec = a_spec(size_bytes=9 * GIB, files={"adapters": (adapter,), "draft": draft})
    assert isinstance(plan(spec, sizes={adapter: GIB, draft: GIB}), LoadOrder)
    assert isinstance(plan(spec, sizes={adapter: GIB, draft: 2 * GIB}), NotEnoughMemory)


def test_a_model_that_would_fit_alone_asks_the_others_to_leave() -> None:
    other = a_runner(a_spec("other"))
    assert plan(a_spec(size_bytes=20 * GIB), other) == NeedsRoom()
    assert isinstance(plan(a_spec(size_bytes=40 * GIB), other), NotEnoughMemory)


@pytest.mark.parametrize("settings", [SchedulerSettings(check_memory=False), None])
def test_nothing_is_refused_when_told_so_or_when_memory_is_not_known(
    settings: SchedulerSettings | None,
) -> None:
    system = SYSTEM if settings else None
    assert isinstance(plan(a_spec(size_bytes=99 * GIB), settings=settings, system=system), LoadOrder)


def test_main_memory_is_not_checked_next_to_a_gpu() -> None:
    spec = a_spec(size_bytes=99 * GIB, num_gpu=0)
    order = plan(spec, devices=(GPU,))
    assert isinstance(order, LoadOrder)
    assert order.devices == ()


@pytest.mark.parametrize(
    ("size_gib", "options", "expected"),
    [
        (16, {}, LoadOrder),
        (17, {}, NeedsRoom),
        (15, {"num_batch": 2048}, NeedsRoom),
        (14, {"num_batch": 2048}, LoadOrder),
        (17, {"num_gpu": 10}, LoadOrder),
        (17, {"num_gpu": 33}, NeedsRoom),
        (17, {"num_gpu": 0}, LoadOrder),
    ],
)
def test_a_second_model_has_to_fit_the_gpu_as_a_whole(
    size_gib: int, options: dict[str, Any], expected: type
) -> None:
    other = a_runner(a_spec("other"))
    assert isinstance(plan(a_spec(size_bytes=size_gib * GIB, **options), other, devices=(GPU,)), expected)


def test_a_large_batch_costs_embedding_models_nothing_extra() -> None:
    spec = a_spec(size_bytes=15 * GIB, num_batch=2048, facts={"pooling_type": 1})
    assert isinstance(plan(spec, a_runner(a_spec("other")), devices=(GPU,)), LoadOrder)


@pytest.mark.parametrize(
    ("leases", "num_thread", "expected"),
    [((), 0, None), ((0, 0), 0, None), ((1, 0), 0, 4), ((3, 1), 0, 2), ((1,) * 20, 0, 1), ((1,), 6, None)],
)
def test_cores_are_divided_among_the_runners_at_work(
    leases: tuple[int, ...], num_thread: int, expected: int | None
) -> None:
    others = [a_runner(a_spec(f"m{number}"), leases=count) for number, count in enumerate(leases)]
    assert share_of_cores(a_spec(num_thread=num_thread), 8, others) == expected


def test_labels_of_a_runner_count_within_its_own_placement() -> None:
    on_second = a_runner(
        a_spec(),
        devices=(SECOND,),
        memory=MemoryUse(by_device={"CUDA0": 5 * GIB, "CUDA1": GIB, "CPU": 3}),
    )
    on_both = a_runner(
        a_spec("both"), devices=(GPU, SECOND), memory=MemoryUse(by_device={"CUDA0": GIB, "CUDA1": 2 * GIB})
    )
    assert known_use([on_second, on_both]) == {("CUDA", "GPU-a"): GIB, ("CUDA", "GPU-b"): 7 * GIB}


def test_loaded_models_that_map_their_weights_are_told_to_the_launch() -> None:
    mapped = a_runner(a_spec("a", size_bytes=3 * GIB))
    copied = a_runner(a_spec("b", size_bytes=5 * GIB, use_mmap=False))
    order = plan(a_spec(), mapped, copied)
    assert isinstance(order, LoadOrder)
    assert order.mmap_loaded_bytes == 3 * GIB
