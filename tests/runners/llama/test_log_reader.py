from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from orchestrator.runners.base import MemoryUse
from orchestrator.runners.llama.log_reader import ErrorLines, SizeLines, without_prefix
from tests.golden_records import FOLDER, records

MIB = 1 << 20

PREFIX = "llama-server process has terminated: exit status 1"


def kept(*lines: str) -> ErrorLines:
    errors = ErrorLines()
    for line in lines:
        errors.feed(line)
    return errors


def recorded_exits() -> list[Any]:
    """Starts that end with status 1, and the lines that were written before."""
    found = []
    for record in records("engine/failures.jsonl"):
        loads = record.get("script", {}).get("loads", [])
        answer = record["steps"][0].get("response") or {}
        error = (answer.get("body") or {}).get("error") if answer.get("kind") == "json" else None
        single = len(loads) == 1 and loads[0].get("exit") == 1 and "right" not in record
        if single and isinstance(error, str) and error.startswith(PREFIX):
            found.append(pytest.param(loads[0].get("stderr", []), error, id=record["id"]))
    return found


@pytest.mark.parametrize(("lines", "error"), recorded_exits())
def test_errors_of_recorded_starts_are_told_alike(lines: list[str], error: str) -> None:
    text = kept(*lines).text
    assert (f"{PREFIX}: {text}" if text else PREFIX) == error


def test_the_latest_lines_are_kept() -> None:
    errors = kept(*(f"error: {number:04} {'y' * 500}" for number in range(30)))
    lines = errors.text.split("\n")
    assert len(lines) == 15
    assert lines[-1].startswith("error: 0029")
    assert len(errors.text) <= 8192


def test_one_line_beyond_the_limit_is_cut_at_its_beginning() -> None:
    text = kept("error: " + "é" * 9000).text
    assert len(text.encode()) <= 8192
    assert text.endswith("éé")


def test_an_engine_that_goes_on_is_forgiven() -> None:
    errors = kept("error: x", "cudaMalloc failed: out of memory")
    errors.clear()
    assert (errors.text, errors.out_of_memory_line) == ("", "")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ggml: x: cudaMalloc failed: out of memory", "cudaMalloc failed: out of memory"),
        (
            "ggml_aligned_malloc: insufficient memory (1 MB)",
            "ggml_aligned_malloc: insufficient memory (1 MB)",
        ),
        (
            "vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
            "vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
        ),
        ("failed to allocate buffer, retrying without pipeline parallelism", ""),
        ("error: other", ""),
    ],
)
def test_a_line_that_tells_of_exhausted_memory_is_remembered(line: str, found: str) -> None:
    assert kept(line, "error: later").out_of_memory_line == found


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("0.00.388.300 I load_tensors: x", "load_tensors: x"),
        ("I srv  update_slots: all slots are idle", "srv  update_slots: all slots are idle"),
        ("load_tensors: x", "load_tensors: x"),
        ("In the beginning", "In the beginning"),
    ],
)
def test_time_and_level_are_taken_off(line: str, text: str) -> None:
    assert without_prefix(line) == text


def recorded_sizes() -> list[Any]:
    """Starts that write sizes, and what ``/api/ps`` showed of them."""
    world = json.loads((FOLDER / "engine/world.json").read_text())
    found = []
    for record in records("engine/sequences.jsonl"):
        lines = (record.get("script") or {}).get("loads", [{}])[0].get("stderr", [])
        shown = record["steps"][0].get("ps")
        if shown and any("buffer size" in line for line in lines):
            file = next(iter(world["models"][record["world"][0]]["files"]))
            size = len(gzip.decompress(base64.b64decode(world["blobs"][file]["gzip_base64"])))
            total = record.get("right", {}).get("steps.0.ps.0.size", shown[0]["size"])
            found.append(pytest.param(lines, size, total, shown[0]["size_vram"], id=record["id"]))
    return found


def sizes(*lines: str) -> SizeLines:
    read = SizeLines()
    for line in lines:
        read.feed(line)
    return read


@pytest.mark.parametrize(("lines", "file_size", "total", "vram"), recorded_sizes())
def test_recorded_sizes_add_up_alike(lines: list[str], file_size: int, total: int, vram: int) -> None:
    use = sizes(*lines).memory_use(file_size)
    assert (use.total_bytes, use.vram_bytes) == (total, vram)
    assert sum(use.by_device.values()) == vram


def test_without_a_single_size_the_file_counts() -> None:
    assert sizes("nothing").memory_use(7) == MemoryUse(total_bytes=7, vram_bytes=7)


def test_use_is_told_by_device() -> None:
    use = sizes(
        "load_tensors:  CUDA0_Mapped model buffer size =   10.00 MiB",
        "llama_kv_cache:      CUDA0 KV buffer size =  5.00 MiB",
        "llama_kv_cache:      CUDA1 KV buffer size =  6.00 MiB",
        "sched_reserve:  CUDA_Host compute buffer size =   12.00 MiB",
    ).memory_use(0)
    assert use.by_device == {"CUDA0": 15 * MIB, "CUDA1": 6 * MIB}


def test_a_projector_counts_where_it_is() -> None:
    use = sizes(
        "clip_ctx: CLIP using CUDA0 backend",
        "load_hparams: model size:         851.25 MiB",
        "llama_kv_cache:        CPU KV buffer size =  1.00 MiB",
    ).memory_use(0)
    assert use.by_device == {"CUDA0": int(851.25 * MIB)}
    assert use.total_bytes == int(852.25 * MIB)


def test_slots_and_free_memory_are_read() -> None:
    read = sizes(
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA X) (0000:01:00.0) - 15221 MiB free",
        "srv    load_model: initializing, n_slots = 2, n_ctx_slot = 4096, kv_unified = 'false'",
    )
    assert read.free_at_load == {"CUDA0": 15221 * MIB}
    assert (read.slots, read.context_per_slot) == (2, 4096)


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400 + ".5", "1..2", ".", "-1"])
@pytest.mark.parametrize(
    "line",
    [
        "load_tensors: CPU model buffer size = {} MiB",
        "load_hparams: model size: {} MiB",
        "using device CUDA0 (a card) - {} MiB free",
        "offloaded {0}/{0} layers to GPU",
        "common_params_fit_impl:   - CUDA0: 4 layers ({} overflowing)",
        "initializing, n_slots = {0}, n_ctx_slot = {0}",
    ],
)
def test_text_of_a_template_that_looks_like_a_size_does_no_harm(line: str, number: str) -> None:
    sizes = SizeLines()
    sizes.feed(line.format(number))
    assert sizes == SizeLines()
