from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.discovery.filters import (
    allowed,
    narrowing,
    numbered,
    one_library_each,
    one_variant_each,
    parse_architectures,
    supported,
)
from orchestrator.domain.devices import Device

GPU = Device(library="CUDA", id="0", name="CUDA0", compute=(8, 9))
INTEGRATED = replace(GPU, integrated=True)


@pytest.mark.parametrize(
    "name",
    [
        "CUDA_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "GGML_VK_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "HSA_OVERRIDE_GFX_VERSION",
    ],
)
def test_variables_that_hide_gpus_are_told_where_they_are_set(name: str) -> None:
    assert narrowing({name: "-1", "PATH": "/bin"}) == {name: "-1"}
    assert narrowing({name: "", "PATH": "/bin"}) == {}


def test_architectures_are_read_from_the_features_of_a_backend() -> None:
    line = "system_info: n_threads = 2 | CPU : SSE3 = 1 | CUDA : ARCHS = 750,800,1200 | REPACK = 1 |"
    assert parse_architectures(line) == {750, 800, 1200}
    assert parse_architectures("system_info: CPU") == frozenset()


@pytest.mark.parametrize(
    ("device", "architectures", "kept"),
    [
        (GPU, {890}, True),
        (GPU, {860, 900}, False),
        (GPU, set(), True),
        (replace(GPU, compute=(0, 0)), {860}, True),
        (replace(GPU, compute=(12, 0)), {1200}, True),
        (replace(GPU, library="ROCm", compute=(16, 49)), {860}, True),
    ],
)
def test_devices_a_backend_was_not_made_for_are_dropped(
    device: Device, architectures: set[int], kept: bool
) -> None:
    assert bool(supported([device], frozenset(architectures))) == kept


@pytest.mark.parametrize(
    ("device", "integrated", "kept"),
    [
        (GPU, False, True),
        (INTEGRATED, None, True),
        (INTEGRATED, False, False),
        (replace(INTEGRATED, library="Vulkan"), None, False),
        (replace(INTEGRATED, library="Vulkan"), True, True),
        (replace(INTEGRATED, library="Metal"), None, True),
    ],
)
def test_integrated_gpus_are_used_where_they_work_or_are_wanted(
    device: Device, integrated: bool | None, kept: bool
) -> None:
    assert bool(allowed([device], integrated=integrated)) == kept


NEWER = replace(GPU, description="Toy", library_path=("/lib", "/lib/cuda_v13"))
OLDER = replace(NEWER, library_path=("/lib", "/lib/cuda_v12"))


def second(device: Device) -> Device:
    return replace(device, id="1", description="Old toy")


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        ([NEWER, OLDER], [NEWER]),
        ([NEWER, second(NEWER), OLDER, second(OLDER)], [NEWER, second(NEWER)]),
        ([NEWER, OLDER, second(OLDER)], [OLDER, second(OLDER)]),
        ([NEWER, second(NEWER), OLDER], [OLDER, second(NEWER)]),
        ([NEWER, OLDER, replace(GPU, library="Vulkan")], [NEWER, replace(GPU, library="Vulkan")]),
    ],
)
def test_a_gpu_is_used_by_one_variant_and_none_is_lost(listed: list[Device], kept: list[Device]) -> None:
    assert one_variant_each(listed) == tuple(kept)


RADEON = Device("ROCm", "0", "ROCm0", "AMD Radeon RX 7900 XTX", total_bytes=24560 << 20)
ON_VULKAN = replace(
    RADEON, library="Vulkan", name="Vulkan0", description="AMD Radeon RX 7900 XTX (RADV NAVI31)"
)


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        (ON_VULKAN, False),
        (replace(ON_VULKAN, description="amd radeon(TM)  RX-7900 xtx"), False),
        (replace(ON_VULKAN, total_bytes=23400 << 20), False),
        (replace(ON_VULKAN, total_bytes=16368 << 20), True),
        (replace(ON_VULKAN, description="AMD Radeon RX 7800 XT (RADV NAVI32)"), True),
        (replace(ON_VULKAN, library="CUDA"), True),
    ],
)
def test_a_gpu_that_two_libraries_see_is_counted_once(other: Device, kept: bool) -> None:
    assert one_library_each([other, RADEON]) == ((other, RADEON) if kept else (RADEON,))
    assert one_library_each([other]) == (other,)


@pytest.mark.parametrize(
    ("environ", "filter_ids"),
    [
        ({}, ["2", "5", "0"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b, GPU-c"}, ["GPU-c", "5", "0"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, ["2", "5", "0"]),
        ({"GGML_VK_VISIBLE_DEVICES": "3"}, ["2", "5", "3"]),
    ],
)
def test_devices_are_numbered_anew_and_keep_the_name_that_shows_them(
    environ: dict[str, str], filter_ids: list[str]
) -> None:
    devices = numbered([replace(GPU, id="2"), replace(GPU, id="5"), replace(GPU, library="Vulkan")], environ)
    assert [device.id for device in devices] == ["0", "1", "0"]
    assert [device.filter_id for device in devices] == filter_ids
