from __future__ import annotations

import sys

import pytest

from orchestrator.domain.devices import Device
from orchestrator.runners.llama.visibility import visibility


def device(library: str, id: str, filter_id: str = "") -> Device:
    return Device(library=library, id=id, name=f"{library}{id}", filter_id=filter_id)


@pytest.mark.parametrize(
    ("devices", "variables"),
    [
        ([], {}),
        ([device("CUDA", "0", "GPU-abc")], {"CUDA_VISIBLE_DEVICES": "GPU-abc"}),
        ([device("CUDA", "1"), device("CUDA", "0", "3")], {"CUDA_VISIBLE_DEVICES": "1,3"}),
        ([device("Vulkan", "1")], {"GGML_VK_VISIBLE_DEVICES": "1"}),
        ([device("Vulkan", "0"), device("Vulkan", "1")], {}),
        ([device("Metal", "0")], {}),
    ],
)
def test_an_engine_is_shown_the_chosen_devices(devices: list[Device], variables: dict[str, str]) -> None:
    assert visibility(devices, {}) == variables


@pytest.mark.skipif(sys.platform != "linux", reason="other variables elsewhere")
@pytest.mark.parametrize(
    ("environ", "variables"),
    [
        ({}, {"ROCR_VISIBLE_DEVICES": "0,2"}),
        ({"HIP_VISIBLE_DEVICES": "0,2"}, {"ROCR_VISIBLE_DEVICES": "0,2", "HIP_VISIBLE_DEVICES": "0,1"}),
        ({"HIP_VISIBLE_DEVICES": "GPU-x"}, {"ROCR_VISIBLE_DEVICES": "0,2"}),
        ({"HIP_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0"}, {"ROCR_VISIBLE_DEVICES": "0,2"}),
    ],
)
def test_numbers_of_the_user_count_among_the_devices_left(
    environ: dict[str, str], variables: dict[str, str]
) -> None:
    assert visibility([device("ROCm", "0"), device("ROCm", "2")], environ) == variables
