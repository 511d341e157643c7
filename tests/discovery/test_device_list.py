from __future__ import annotations

import pytest

from orchestrator.discovery.device_list import parse_device_list
from orchestrator.domain.devices import Device

MIB = 1 << 20

CUDA = """Available devices:
  CUDA0: NVIDIA GeForce RTX 4090 (24564 MiB, 23592 MiB free)
  CUDA1: NVIDIA GeForce RTX 3060 (12288 MiB, 12000 MiB free)
"""
CUDA_LOG = """ggml_cuda_init: found 2 CUDA devices (Total VRAM: 36852 MiB):
  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes, VRAM: 24564 MiB
  Device 1: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes, VRAM: 12288 MiB
"""


def test_nothing_listed_is_no_device() -> None:
    assert parse_device_list("Available devices:\n  (none)\n") == ()
    assert parse_device_list("") == ()


def test_cuda_devices_know_their_capability() -> None:
    first, second = parse_device_list(CUDA, CUDA_LOG, library_path=("/lib", "/lib/cuda_v13"))
    assert first == Device(
        library="CUDA",
        id="0",
        name="CUDA0",
        description="NVIDIA GeForce RTX 4090",
        total_bytes=24564 * MIB,
        free_bytes=23592 * MIB,
        compute=(8, 9),
        library_path=("/lib", "/lib/cuda_v13"),
    )
    assert (second.id, second.compute) == ("1", (8, 6))


@pytest.mark.parametrize(
    ("line", "library"),
    [
        ("ROCm0: AMD Radeon RX 7900 XTX (24560 MiB, 24000 MiB free)", "ROCm"),
        ("Vulkan0: llvmpipe (LLVM 15.0.6, 256 bits) (24105 MiB, 24105 MiB free)", "Vulkan"),
        ("MTL0: Apple M2 (16384 MiB, 12000 MiB free)", "Metal"),
        ("SYCL0: Intel Arc (16384 MiB, 12000 MiB free)", "Intel Arc"),
    ],
)
def test_the_library_is_told_by_the_name(line: str, library: str) -> None:
    (device,) = parse_device_list(f"Available devices:\n  {line}\n")
    assert device.library == library


def test_a_target_of_rocm_is_a_capability() -> None:
    log = "  Device 0: AMD Radeon, gfx1031 (0x1031), VMM: no, Wave Size: 32\n"
    (device,) = parse_device_list("  ROCm0: AMD Radeon (12288 MiB, 12000 MiB free)\n", log)
    assert device.compute == (0x10, 0x31)


def test_shared_memory_makes_a_gpu_integrated() -> None:
    log = "ggml_vulkan: 0 = Intel UHD (x) | uma: 1 | fp16: 1\nggml_vulkan: 1 = AMD (x) | uma: 0 | fp16: 1\n"
    listed = "  Vulkan0: Intel UHD (8192 MiB, 8000 MiB free)\n  Vulkan1: AMD (8192 MiB, 8000 MiB free)\n"
    assert [device.integrated for device in parse_device_list(listed, log)] == [True, False]
    assert parse_device_list("  MTL0: Apple M2 (16384 MiB, 12000 MiB free)\n")[0].integrated


def test_devices_without_memory_are_no_gpus() -> None:
    assert parse_device_list("  BLAS: OpenBLAS (0 MiB, 0 MiB free)\n") == ()


def test_ids_count_within_a_library() -> None:
    listed = CUDA + "  Vulkan0: NVIDIA GeForce RTX 4090 (24564 MiB, 23592 MiB free)\n"
    assert [(d.library, d.id) for d in parse_device_list(listed)] == [
        ("CUDA", "0"),
        ("CUDA", "1"),
        ("Vulkan", "0"),
    ]
