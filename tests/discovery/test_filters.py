from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.discovery.filters import (
    allowed,
    numbered,
    one_variant_each,
    parse_architectures,
    supported,
)
from orchestrator.domain.devices import Device

GPU = Device(library="CUDA", id="0", name="CUDA0", compute=(8, 9))
INTEGRATED = replace(GPU, integrated=True)


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


def test_of_two_variants_of_a_library_the_first_is_used() -> None:
    newer = replace(GPU, library_path=("/lib", "/lib/cuda_v13"))
    older = replace(GPU, library_path=("/lib", "/lib/cuda_v12"))
    vulkan = replace(GPU, library="Vulkan", library_path=("/lib", "/lib/vulkan"))
    assert one_variant_each([newer, replace(newer, id="1"), older, vulkan]) == (
        newer,
        replace(newer, id="1"),
        vulkan,
    )


@pytest.mark.parametrize(
    ("environ", "filter_ids"),
    [
        ({}, ["2", "5", "0"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b"}, ["GPU-a", "GPU-b", "0"]),
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
