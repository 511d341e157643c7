"""What a tower's file says where the published model says nothing, or something of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compat.plan import Given
from orchestrator.compat.registry import plan_view
from orchestrator.compat.source import Source
from tests.compat.pairs import Pair
from tests.compat.tiny import Model
from tests.gguf_builder import Typed


def tower_keys(published: Model, folder: Path) -> dict[str, Any]:
    """The keys of the planned tower, those of the vision part without their beginning."""
    blob = folder / "blob"
    blob.write_bytes(published.gguf())
    plan = plan_view(Source.read(blob))
    assert plan is not None
    assert plan.projector is not None
    return {
        key.removeprefix("clip.vision."): value.value
        for key, value in plan.projector.metadata.items()
        if isinstance(value, Given)
    }


@pytest.mark.parametrize(
    ("model", "absent", "expected"),
    [
        (
            "qwen35",
            ("feed_forward_length", "image_size", "attention.layer_norm_epsilon"),
            {"feed_forward_length": 4304, "image_size": 768, "attention.layer_norm_epsilon": 1e-6},
        ),
        ("qwen3vl", ("num_channels",), {"num_channels": 3, "temporal_patch_size": 2, "rope.freq_base": 1e4}),
        ("qwen25vl", ("fullatt_block_indexes",), {"n_wa_pattern": 8, "image_size": 560}),
        ("gemma4", ("image_size",), {"image_size": 224, "image_mean": [0.0] * 3, "image_std": [1.0] * 3}),
        ("llama4", ("pixel_shuffle_ratio",), {"projector.scale_factor": 2}),
        (
            "nemotron_h_omni",
            ("image_size", "patch_size", "block_count", "attention.head_count", "projector.scale_factor"),
            {
                "image_size": 512,
                "patch_size": 16,
                "block_count": 32,
                "attention.head_count": 16,
                "projector.scale_factor": 2,
                "attention.layer_norm_epsilon": 1e-6,
            },
        ),
    ],
)
def test_what_is_not_said_is_as_engines_of_the_family_have_it(
    model: str,
    absent: tuple[str, ...],
    expected: Mapping[str, Any],
    by_id: dict[str, Pair],
    tmp_path: Path,
) -> None:
    published = by_id[model].published.without_keys(*(f".vision.{name}" for name in absent))
    keys = tower_keys(published, tmp_path)
    assert {name: keys.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("model", "said", "expected"),
    [
        (
            "qwen3vl",
            {"shortest_edge": 256, "longest_edge": 4096},
            {"image_min_pixels": 256, "image_max_pixels": 4096},
        ),
        ("qwen25vl", {"fullatt_block_indexes": Typed("arr:i32", [7, 15])}, {"n_wa_pattern": 8}),
        (
            "gemma3",
            {"image_mean": [0.25] * 3, "num_channels": 3},
            {"image_mean": (0.25,) * 3, "num_channels": 3},
        ),
        ("nemotron_h_omni", {"max_tiles": 12, "image_token_id": 18}, {"max_tiles": 12, "image_token_id": 18}),
        ("llama4", {"pixel_shuffle_ratio": 0.25}, {"projector.scale_factor": 4}),
    ],
)
def test_what_is_said_is_taken_over(
    model: str, said: Mapping[str, Any], expected: Mapping[str, Any], by_id: dict[str, Pair], tmp_path: Path
) -> None:
    published = by_id[model].published.with_keys({f".vision.{name}": value for name, value in said.items()})
    keys = tower_keys(published, tmp_path)
    assert {name: keys.get(name) for name in expected} == expected
