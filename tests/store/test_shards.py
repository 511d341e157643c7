"""Weights that are split into several layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.files.gguf import GgufConfig
from orchestrator.store.shards import weights_of

A, B, C = Path("a"), Path("b"), Path("c")


def split(number: int, count: int) -> dict[str, Any]:
    return {"split.no": number, "split.count": count}


@pytest.mark.parametrize(
    ("said", "weights"),
    [
        ({}, ()),
        ({A: {}}, (A,)),
        ({A: split(0, 2)}, (A,)),
        ({A: split(0, 2), B: split(1, 2)}, (A, B)),
        ({A: split(2, 3), B: split(0, 3), C: split(1, 3)}, (B, C, A)),
        ({A: split(0, 3), B: split(1, 3)}, (B,)),
        ({A: split(0, 2), B: split(0, 2)}, (B,)),
        ({A: split(0, 2), B: {}}, (B,)),
        ({A: {}, B: {}}, (B,)),
    ],
)
def test_shards_are_put_in_order_and_of_others_the_last_counts(
    said: Mapping[Path, Mapping[str, Any]], weights: tuple[Path, ...]
) -> None:
    assert weights_of(tuple(said), lambda path: GgufConfig(said[path])) == weights
