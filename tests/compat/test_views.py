"""Views of a store's models: made once, found again, gone with their blobs."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.compat.errors import IncompatibleModel
from orchestrator.compat.views import Views, remove_orphans
from orchestrator.domain.digests import Digest
from orchestrator.domain.loads import ModelFiles
from orchestrator.errors import StoreError
from orchestrator.files.gguf import read_header
from orchestrator.runners.base import PreparedFiles
from orchestrator.store.errors import DiskFull
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from tests.compat.conftest import stored
from tests.compat.pairs import Pair
from tests.compat.test_registry import assert_same


@pytest.fixture
def views(layout: StoreLayout, tmp_path: Path) -> Views:
    return Views(layout, tmp_path / "cache")


def prepare(views: Views, files: ModelFiles) -> PreparedFiles:
    return asyncio.run(views.prepared(files))


def files_below(folder: Path) -> dict[Path, int]:
    """Files with the times of their last change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_weights_and_tower_take_the_place_of_the_blob(
    views: Views, layout: StoreLayout, by_id: dict[str, Pair]
) -> None:
    pair = by_id["gemma3"]
    assert pair.text is not None
    assert pair.projector is not None
    model = stored(layout, pair.published.gguf())
    prepared = prepare(views, model)
    assert prepared.environ == {}
    files = prepared.files
    assert_same(files.weights, pair.text)
    assert_same(files.projectors[0], pair.projector)
    assert files.facts.embedded_projector_bytes == 0
    assert files.facts.projector_bytes == read_header(files.projectors[0]).bytes_of("")
    assert (files.key, files.name) == (model.key, model.name)


def test_a_view_is_made_once(views: Views, layout: StoreLayout, by_id: dict[str, Pair]) -> None:
    model = stored(layout, by_id["gemma3"].published.gguf())
    first = prepare(views, model)
    before = files_below(layout.views)
    again = prepare(Views(layout, Path("unused")), model)
    assert (prepare(views, model), again) == (first, first)
    assert files_below(layout.views) == before


def test_a_view_that_was_removed_is_made_anew(
    views: Views, layout: StoreLayout, by_id: dict[str, Pair]
) -> None:
    model = stored(layout, by_id["olmo3"].published.gguf())
    first = prepare(views, model).files.weights
    shutil.rmtree(layout.views)
    assert prepare(views, model).files.weights == first
    assert first.is_file()


def test_many_who_ask_at_once_get_one_view(views: Views, layout: StoreLayout, by_id: dict[str, Pair]) -> None:
    model = stored(layout, by_id["olmo3"].published.gguf())
    others = [Views(layout, Path("unused")) for _ in range(3)]

    async def all_at_once() -> list[PreparedFiles]:
        return await asyncio.gather(*(each.prepared(model) for each in (*[views] * 5, *others)))

    assert len({prepared.files.weights for prepared in asyncio.run(all_at_once())}) == 1
    assert len(files_below(layout.views)) == 1


def test_ordinary_files_stay_as_they_are(views: Views, layout: StoreLayout, by_id: dict[str, Pair]) -> None:
    text = by_id["gemma3"].text
    assert text is not None
    model = stored(layout, text.gguf())
    assert prepare(views, model).files is model
    assert not layout.views.exists()


def test_files_of_other_kinds_are_not_even_opened(views: Views, layout: StoreLayout) -> None:
    model = ModelFiles(key="k", name="n", digest="d", weights=layout.blobs / "sha256-missing")
    assert prepare(views, model).files is model


def test_a_separate_projector_and_a_draft_are_translated_too(
    views: Views, layout: StoreLayout, by_id: dict[str, Pair]
) -> None:
    llava, olmo = by_id["llava"], by_id["olmo3"]
    assert llava.projector is not None
    assert olmo.text is not None
    plain = stored(layout, olmo.text.gguf())
    projector = stored(layout, llava.published.gguf()).weights
    draft = stored(layout, olmo.published.gguf()).weights
    files = prepare(views, replace(plain, projectors=(projector,), draft=draft)).files
    assert files.weights == plain.weights
    assert_same(files.projectors[0], llava.projector)
    assert files.draft is not None
    assert_same(files.draft, olmo.text)


def test_a_separate_projector_counts_before_the_tower_in_the_weights(
    views: Views, layout: StoreLayout, by_id: dict[str, Pair]
) -> None:
    own = by_id["llama4"].projector
    assert own is not None
    projector = stored(layout, own.gguf()).weights
    model = replace(stored(layout, by_id["llama4"].published.gguf()), projectors=(projector,))
    assert prepare(views, model).files.projectors == (projector,)


def test_overlays_are_small_and_name_their_sources(
    layout: StoreLayout, tmp_path: Path, by_id: dict[str, Pair]
) -> None:
    model = stored(layout, by_id["gemma3"].published.gguf())
    whole = prepare(Views(layout, tmp_path), model).files.weights
    prepared = prepare(Views(layout, tmp_path, overlays=True), model)
    assert prepared.environ == {"ORCH_OVERLAY_SOURCES": str(layout.blobs)}
    assert prepared.files.weights.stat().st_size < model.weights.stat().st_size / 10
    assert not whole.exists(), "one view of a blob is enough"


def test_where_the_store_cannot_be_written_views_go_to_the_cache(
    layout: StoreLayout, tmp_path: Path, by_id: dict[str, Pair]
) -> None:
    model = stored(layout, by_id["olmo3"].published.gguf())
    layout.views.write_text("in the way")
    files = prepare(Views(layout, tmp_path / "cache"), model).files
    assert files.weights.is_relative_to(tmp_path / "cache")


def test_where_nothing_can_be_written_the_reason_is_told(
    layout: StoreLayout, tmp_path: Path, by_id: dict[str, Pair]
) -> None:
    model = stored(layout, by_id["olmo3"].published.gguf())
    layout.views.write_text("in the way")
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(StoreError, match=r"mkdir .*cache"):
        prepare(Views(layout, tmp_path / "cache"), model)


def test_a_file_with_a_part_missing_is_told_of(
    views: Views, layout: StoreLayout, by_id: dict[str, Pair]
) -> None:
    damaged = by_id["qwen25vl"].published.without_tensors("v.blk.0.ffn_up.weight".__eq__)
    with pytest.raises(IncompatibleModel) as caught:
        prepare(views, stored(layout, damaged.gguf(), "sick"))
    assert str(caught.value).startswith(
        'qwen25vl model without tensor "v.blk.0.ffn_up.weight": this model may be'
    )
    assert str(caught.value).endswith("by running `ollama pull sick`")
    assert list(layout.views.glob("*")) == []


def test_a_tower_for_sound_without_a_projection_is_told_of(
    views: Views, layout: StoreLayout, by_id: dict[str, Pair]
) -> None:
    """Engines would die of it."""
    name = "mm.a.input_projection.weight"
    damaged = by_id["gemma4-sound"].published.without_tensors(name.__eq__)
    with pytest.raises(IncompatibleModel, match=f'gemma4 model without tensor "{name}"'):
        prepare(views, stored(layout, damaged.gguf()))


def test_a_file_cut_short_is_told_of(views: Views, layout: StoreLayout, by_id: dict[str, Pair]) -> None:
    model = stored(layout, by_id["olmo3"].published.gguf())
    os.truncate(model.weights, model.weights.stat().st_size - 100)
    with pytest.raises(IncompatibleModel, match="exceeds file size"):
        prepare(views, model)


def test_a_full_disk_is_noticed_before_anything_is_written(
    views: Views, layout: StoreLayout, by_id: dict[str, Pair]
) -> None:
    """The blob claims more than any disk has: its tensors are a hole in a sparse file."""
    text = by_id["olmo3"].published
    model = stored(layout, text.gguf())
    free = shutil.disk_usage(layout.root).free
    _claim(model.weights, free * 2)
    with pytest.raises(DiskFull):
        prepare(views, model)
    assert list(layout.views.glob("*")) == []


def _claim(path: Path, size: int) -> None:
    """Turn a file into one whose last tensor is so large."""
    header = read_header(path)
    last = max(header.tensors, key=lambda tensor: tensor.offset)
    row_bytes = 4 * math.prod(last.shape[:-1])
    rows = size // row_bytes
    content = path.read_bytes()
    name = last.name.encode()
    at = content.index(len(name).to_bytes(8, "little") + name) + 8 + len(name) + 4 + 8 * (len(last.shape) - 1)
    path.write_bytes(content[:at] + rows.to_bytes(8, "little") + content[at + 8 :])
    os.truncate(path, last.offset + rows * row_bytes)


def test_a_view_goes_with_its_blob(views: Views, layout: StoreLayout, by_id: dict[str, Pair]) -> None:
    model = stored(layout, by_id["olmo3"].published.gguf())
    view = prepare(views, model).files.weights
    digest = Digest(model.weights.name.removeprefix("sha256-"))
    asyncio.run(ModelStore(layout).release([str(digest)]))
    assert not model.weights.exists()
    assert not view.exists()


def test_views_of_blobs_that_are_gone_are_removed(layout: StoreLayout) -> None:
    (layout.blobs / "sha256-here").write_text("")
    for name in ("sha256-here", "sha256-gone", "part-young", "part-old"):
        (layout.views / name).mkdir(parents=True)
    os.utime(layout.views / "part-old", (0, 0))
    remove_orphans(layout.views, layout.blobs)
    assert sorted(path.name for path in layout.views.iterdir()) == ["part-young", "sha256-here"]
