"""Heads that guess ahead: one whole layer is taken over, anything else is left out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.compat.registry import plan_view
from orchestrator.compat.source import Source
from orchestrator.compat.views import Views
from orchestrator.store.layout import StoreLayout
from tests.compat.conftest import stored
from tests.compat.pairs import Pair
from tests.compat.stock import BLOCKS
from tests.compat.test_registry import assert_same, written
from tests.compat.tiny import Model


def of_two_layers(published: Model) -> Model:
    layer = {n: t for n, t in published.tensors.items() if n.startswith("mtp.layers.0.")}
    return published.with_tensors(
        replace(t, name=name.replace("layers.0", "layers.1")) for name, t in layer.items()
    )


def without_layers(published: Model) -> Model:
    return published.without_tensors(lambda name: name.startswith("mtp.layers."))


def without_projection(published: Model) -> Model:
    return published.without_tensors("mtp.fc.weight".__eq__)


HALVES = (of_two_layers, without_layers, without_projection)


def without_head(text: Model) -> Model:
    bare = text.without_tensors(lambda name: name.startswith(f"blk.{BLOCKS}."))
    return bare.without_keys(".nextn_predict_layers").with_keys({".block_count": BLOCKS})


@pytest.mark.parametrize("damage", HALVES)
@pytest.mark.parametrize("model", ["qwen35-guessing", "qwen35moe-guessing"])
def test_a_head_that_no_engine_can_use_is_left_out(
    model: str, damage: Callable[[Model], Model], by_id: dict[str, Pair], tmp_path: Path
) -> None:
    pair = by_id[model]
    assert pair.text is not None
    blob = tmp_path / "blob"
    blob.write_bytes(damage(pair.published).gguf())
    source = Source.read(blob)
    plan = plan_view(source)
    assert plan is not None
    assert plan.text is not None
    assert_same(written(source, plan.text, tmp_path / "view"), without_head(pair.text))


@pytest.mark.parametrize(("damage", "guesses"), [(lambda published: published, True), (of_two_layers, False)])
def test_engines_are_told_whether_there_is_a_head(
    damage: Callable[[Model], Model],
    guesses: bool,
    by_id: dict[str, Pair],
    layout: StoreLayout,
    tmp_path: Path,
) -> None:
    model = stored(layout, damage(by_id["qwen35-guessing"].published).gguf())
    assert model.facts.has_mtp_tensors
    for overlays in (False, True):
        prepared = asyncio.run(Views(layout, tmp_path, overlays=overlays).prepared(model))
        assert prepared.files.facts.has_mtp_tensors == guesses
