from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.devices import Device
from orchestrator.scheduler.memory import (
    batch_surcharge,
    context_tier,
    kv_bytes,
    lower_tier,
    predict,
    slots_of,
)
from tests.scheduler.specs import GIB, a_spec

MIB = 2**20
SEVEN_BILLION = {"embedding_length": 4096, "head_count_max": 32, "head_count_kv_min": 8}


def gpu(total_gib: float) -> Device:
    return Device(library="CUDA", id=str(total_gib), name="CUDA0", total_bytes=int(total_gib * GIB))


def test_thirty_two_layers_of_eight_heads_at_8192_tokens_take_one_gibibyte() -> None:
    assert kv_bytes(a_spec(num_ctx=8192, facts=SEVEN_BILLION), slots=1) == GIB


@pytest.mark.parametrize(
    ("kv_type", "expected"),
    [
        ("", GIB),
        ("f16", GIB),
        ("BF16", GIB),
        ("f32", 2 * GIB),
        ("q8_0", GIB * 17 // 32),
        ("q4_0", GIB * 9 // 32),
        ("unheard-of", GIB),
    ],
)
def test_the_type_of_the_cache_counts(kv_type: str, expected: int) -> None:
    assert kv_bytes(a_spec(num_ctx=8192, facts=SEVEN_BILLION), slots=1, kv_type=kv_type) == expected


def test_every_slot_has_a_window_of_its_own() -> None:
    spec = a_spec(num_ctx=8192, facts=SEVEN_BILLION)
    assert kv_bytes(spec, slots=4) == 4 * GIB


def test_a_window_beyond_the_trained_one_costs_nothing_more() -> None:
    spec = a_spec(num_ctx=8192, trained=8192, facts=SEVEN_BILLION)
    assert kv_bytes(spec, slots=1) == GIB


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"embedding_length": 4096, "head_count_max": 32, "head_count_kv_min": 0}, GIB // 8),
        ({"embedding_length": 4096}, 0),
        ({}, 0),
    ],
)
def test_unknown_heads_are_taken_as_none_and_no_kv_heads_as_one(facts: dict[str, Any], expected: int) -> None:
    assert kv_bytes(a_spec(num_ctx=8192, facts=facts), slots=1) == expected


def test_projector_and_extra_files_are_added_to_the_weights() -> None:
    spec = a_spec(num_ctx=8192, size_bytes=5 * GIB, facts=SEVEN_BILLION | {"projector_bytes": 2 * GIB})
    need = predict(spec, slots=1, extra_bytes=GIB)
    assert (need.weights_bytes, need.kv_bytes, need.total_bytes) == (8 * GIB, GIB, 9 * GIB)


@pytest.mark.parametrize(
    ("batch", "expected"), [(512, 0), (1023, 0), (1024, 768 * MIB), (2048, 2 * GIB), (4096, 2 * GIB)]
)
def test_large_batches_cost_extra(batch: int, expected: int) -> None:
    assert batch_surcharge(batch) == expected


@pytest.mark.parametrize(
    ("files", "facts", "expected"),
    [
        ({}, {}, 4),
        ({"capabilities": frozenset({"embedding"})}, {}, 1),
        ({"family": "qwen3vl"}, {}, 1),
        ({}, {"architecture": "nemotron_h_moe"}, 1),
        ({"family": "qwen3"}, {}, 4),
    ],
)
def test_some_families_and_all_embedding_models_have_one_slot(
    files: dict[str, Any], facts: dict[str, Any], expected: int
) -> None:
    assert slots_of(a_spec(files=files, facts=facts).files, 4) == expected


def test_fewer_than_one_slot_is_one() -> None:
    assert slots_of(a_spec().files, 0) == 1


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ([], 4096),
        ([8], 4096),
        ([22.9], 4096),
        ([23], 32768),
        ([24, 22], 32768),
        ([24, 24], 262144),
        ([80], 262144),
    ],
)
def test_the_default_window_grows_with_the_gpus(totals: list[float], expected: int) -> None:
    assert context_tier([gpu(total) for total in totals]) == expected


def test_the_overhead_is_set_aside_on_each_gpu_and_never_below_nothing() -> None:
    assert context_tier([gpu(24), gpu(24)], overhead_bytes=GIB) == 32768
    assert context_tier([gpu(24), gpu(1)], overhead_bytes=GIB) == 32768


@pytest.mark.parametrize(
    ("num_ctx", "expected"),
    [(262144, 32768), (32769, 32768), (32768, 4096), (4097, 4096), (4096, None), (2048, None)],
)
def test_windows_shrink_tier_by_tier(num_ctx: int, expected: int | None) -> None:
    assert lower_tier(num_ctx) == expected
