from __future__ import annotations

import pytest

from orchestrator.domain.devices import Device
from orchestrator.domain.options import Options
from orchestrator.scheduler.placement import Placement, available_bytes, less_known_use, place
from tests.scheduler.specs import GIB


def gpu(name: str, free: int, *, library: str = "CUDA", integrated: bool = False, total: int = 24) -> Device:
    return Device(
        library=library,
        id=name,
        name=name,
        integrated=integrated,
        total_bytes=total * GIB,
        free_bytes=free * GIB,
    )


BIG, SMALL, OTHER = gpu("big", 20), gpu("small", 10), gpu("other", 16, library="ROCm")
SHARED = gpu("shared", 60, library="Vulkan", integrated=True, total=64)


def placed(
    devices: list[Device], options: Options, gib: int, **more: int | bool
) -> tuple[list[str], int | None]:
    placement = place(devices, options, predicted_bytes=gib * GIB, **more)  # type: ignore[arg-type]
    return [device.name for device in placement.devices], placement.main_gpu


@pytest.mark.parametrize(
    ("devices", "gib", "expected"),
    [
        ([], 5, ([], None)),
        ([BIG], 5, (["big"], None)),
        ([BIG], 500, (["big"], None)),
        ([SMALL, BIG], 5, (["big"], 0)),
        ([SMALL, BIG], 16, (["big"], 0)),
        ([SMALL, BIG], 17, (["small", "big"], None)),
        ([SMALL, BIG, OTHER], 17, (["small", "big"], None)),
        ([OTHER, SMALL, BIG], 12, (["big"], 0)),
        ([SHARED, SMALL], 5, (["small"], 0)),
        ([SHARED, SMALL], 30, (["shared"], 0)),
        ([SHARED, SMALL], 300, (["small"], None)),
        ([SMALL, BIG], 0, (["small", "big"], None)),
    ],
)
def test_one_gpu_that_holds_everything_else_the_best_group(
    devices: list[Device], gib: int, expected: tuple[list[str], int | None]
) -> None:
    assert placed(devices, Options(), gib) == expected


def test_spreading_never_picks_a_single_gpu() -> None:
    assert placed([SMALL, BIG], Options(), 5, spread=True) == (["small", "big"], None)


def test_no_layers_on_the_gpu_means_no_gpu() -> None:
    assert place([BIG, SMALL], Options(num_gpu=0, main_gpu=1), predicted_bytes=1) == Placement((), 1)


@pytest.mark.parametrize(
    ("devices", "main_gpu", "expected"),
    [
        ([SMALL, BIG], 0, (["small"], 0)),
        ([SMALL, BIG], 1, (["big"], 0)),
        ([OTHER, SMALL, BIG], 0, (["other"], 0)),
        ([SHARED, SMALL, BIG], 0, (["small"], 0)),
        ([SMALL, BIG], 7, (["small", "big"], 7)),
        ([SMALL, BIG], -1, (["small", "big"], -1)),
        ([BIG], 7, (["big"], 7)),
    ],
)
def test_the_gpu_asked_for_is_taken_alone_and_counted_anew(
    devices: list[Device], main_gpu: int, expected: tuple[list[str], int | None]
) -> None:
    assert placed(devices, Options(main_gpu=main_gpu), 300) == expected


def test_integrated_gpus_have_no_more_than_main_memory_has() -> None:
    assert available_bytes([SHARED, SMALL], 8 * GIB) == 18 * GIB
    assert available_bytes([SHARED, SMALL]) == 70 * GIB
    assert available_bytes([SHARED], 100 * GIB) == 60 * GIB


def test_of_a_named_main_gpu_only_its_own_memory_counts() -> None:
    assert available_bytes([SMALL, BIG], None, 1) == 20 * GIB
    assert available_bytes([SMALL, BIG], None, 7) == 30 * GIB


def test_known_use_corrects_figures_that_lag_and_never_raises_them() -> None:
    used = {("CUDA", "big"): 15 * GIB, ("CUDA", "small"): 2 * GIB, ("ROCm", "other"): 30 * GIB}
    free = [device.free_bytes // GIB for device in less_known_use([BIG, SMALL, OTHER], used)]
    assert free == [9, 10, 0]
