"""Where things stand in the files of a view."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.compat.layout import CLONED_BYTES, Placed, overlay_layout, own_layout, runs
from orchestrator.compat.plan import FilePlan, Given, PlannedTensor, Stretch
from orchestrator.compat.registry import plan_view
from orchestrator.compat.source import Source
from orchestrator.compat.writer import opened
from orchestrator.files.gguf import read_header
from tests.compat.pairs import Pair

ALIGNMENT = 32


def no_bytes(stretch: Stretch) -> bytes:
    raise AssertionError(f"{stretch} was read")


def plan_of(*tensors: PlannedTensor) -> FilePlan:
    return FilePlan({"general.architecture": Given("str", "x")}, tensors, ALIGNMENT)


def at(offset: int, count: int, name: str = "t") -> PlannedTensor:
    return PlannedTensor(name, (count,), "F32", (Stretch(offset, 4 * count),))


@given(
    offsets=st.lists(st.integers(1, 1 << 20), min_size=1, max_size=8),
    counts=st.lists(st.integers(1, 5000), min_size=8, max_size=8),
)
def test_most_data_lies_as_in_the_source_modulo_shared_pieces(offsets: list[int], counts: list[int]) -> None:
    tensors = [
        at(32 * offset, count, f"t{i}")
        for i, (offset, count) in enumerate(zip(offsets, counts, strict=False))
    ]
    layout = own_layout(plan_of(*tensors), no_bytes)
    assert len(layout.head) % ALIGNMENT == 0
    shared: dict[int, int] = {}
    for placed in layout.data:
        place = placed.tensor.stretch
        assert place is not None
        distance = (place.offset - placed.offset) % CLONED_BYTES
        shared[distance] = shared.get(distance, 0) + place.size_bytes
    assert shared.get(0, 0) == max(shared.values())


def test_data_follows_without_gaps_but_for_alignment(tmp_path: Path) -> None:
    layout = own_layout(plan_of(at(64, 3, "a"), at(4096, 8, "b")), no_bytes)
    path = tmp_path / "view"
    path.write_bytes(layout.head + bytes(layout.size_bytes - len(layout.head)))
    header = read_header(path)
    assert [tensor.offset for tensor in header.tensors] == [placed.offset for placed in layout.data]
    assert header.tensors[1].offset - header.tensors[0].offset == ALIGNMENT


def test_neighbours_in_both_files_are_one_run() -> None:
    placed = [Placed(at(1000, 3, "a"), 0), Placed(at(1032, 8, "b"), 32), Placed(at(5000, 8, "c"), 64)]
    assert list(runs(placed, ALIGNMENT)) == [(Stretch(1000, 64), 0), (Stretch(5000, 32), 64)]


def test_what_has_to_be_made_stands_between_runs() -> None:
    made = PlannedTensor("m", (8,), "F32", (Stretch(0, 16), Stretch(100, 16)))
    placed = [Placed(at(1000, 8, "a"), 0), Placed(made, 32), Placed(at(1032, 8, "b"), 64)]
    assert list(runs(placed, ALIGNMENT)) == [(Stretch(1000, 32), 0), placed[1], (Stretch(1032, 32), 64)]


def test_a_file_without_tensors_is_its_head() -> None:
    layout = own_layout(plan_of(), no_bytes)
    assert (layout.size_bytes, layout.data) == (len(layout.head), ())


@pytest.mark.parametrize("pair", ["mistral3", "olmo3"])
def test_an_overlay_holds_only_what_was_made(pair: str, by_id: dict[str, Pair], tmp_path: Path) -> None:
    blob = tmp_path / "sha256-1"
    blob.write_bytes(by_id[pair].published.gguf())
    source = Source.read(blob)
    plan = plan_view(source)
    assert plan is not None
    for part in filter(None, (plan.text, plan.projector)):
        with opened(blob) as file:
            layout = overlay_layout(part, file.read, source_name=blob.name, source_bytes=blob.stat().st_size)
        made = [tensor for tensor in part.tensors if tensor.stretch is None]
        assert [placed.tensor for placed in layout.data] == made
        assert layout.size_bytes <= len(layout.head) + sum(t.size_bytes + ALIGNMENT for t in made)


def test_an_overlay_tells_where_each_tensor_stands(tmp_path: Path) -> None:
    made = PlannedTensor("m", (8,), "F32", (Stretch(0, 16), Stretch(100, 16)))
    plan = plan_of(at(640, 3, "a"), made, at(4096, 8, "b"))
    layout = overlay_layout(plan, no_bytes, source_name="sha256-1", source_bytes=9999)
    path = tmp_path / "overlay"
    # readers of ordinary files check that all data is there
    path.write_bytes(layout.head + bytes(4096))
    metadata = read_header(path, keep_arrays=True).metadata
    assert metadata["orch.overlay.source"] == "sha256-1"
    assert metadata["orch.overlay.source_bytes"] == 9999
    assert metadata["orch.overlay.files"] == (1, 0, 1)
    assert metadata["orch.overlay.offsets"] == (640, len(layout.head), 4096)


def test_a_view_of_a_view_has_each_key_once(by_id: dict[str, Pair], tmp_path: Path) -> None:
    published = by_id["olmo3"].published.with_keys({"orch.view.filler": "x", "orch.overlay.source": "y"})
    blob = tmp_path / "sha256-1"
    blob.write_bytes(published.gguf())
    plan = plan_view(Source.read(blob))
    assert plan is not None
    assert plan.text is not None
    assert not [key for key in plan.text.metadata if key.startswith("orch.")]
