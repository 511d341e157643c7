"""Pruning: only what is old and used by nothing, and nothing at all when in doubt."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.store.layout import StoreLayout
from orchestrator.store.manifests import ManifestStore
from orchestrator.store.prune import (
    RESUMABLE_AGE,
    SPARED_AGE,
    Kind,
    PrunePlan,
    carry_out,
    held_name,
    plan_prune,
    prune_unused,
    remove_if_unused,
)
from orchestrator.store.wire import Layer, Manifest

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
OWL = ModelName.parse("owl")

Place = Callable[..., Path]


@pytest.fixture
def manifests(layout: StoreLayout) -> ManifestStore:
    return ManifestStore(layout)


@pytest.fixture
def place(layout: StoreLayout) -> Place:
    """Puts a file of some age among the blobs."""
    layout.blobs.mkdir(parents=True)

    def file(name: str, age: timedelta = timedelta(days=1)) -> Path:
        path = layout.blobs / name
        path.write_bytes(b"x")
        modified = (NOW - age).timestamp()
        os.utime(path, (modified, modified))
        return path

    return file


def digest(letter: str) -> Digest:
    return Digest(letter * 64)


def using(*letters: str) -> Manifest:
    return Manifest(
        config=Layer(digest=str(digest(letters[0]))),
        layers=tuple(Layer(digest=str(digest(letter))) for letter in letters[1:]),
    )


def test_old_and_unused_files_go(layout: StoreLayout, manifests: ManifestStore, place: Place) -> None:
    manifests.write(OWL, using("a", "b"))
    kept = [place(digest("a").file_name), place(digest("b").file_name)]
    young = place(digest("c").file_name, SPARED_AGE - timedelta(seconds=1))
    gone = [place(digest("d").file_name, SPARED_AGE), place("sha256-12345"), place("whatever")]
    (layout.blobs / "split-gguf-1").mkdir()
    assert prune_unused(layout, manifests, now=NOW) == len(gone)
    assert set(layout.blobs.iterdir()) == {*kept, young, layout.blobs / "split-gguf-1"}


def test_a_reference_in_capitals_counts(layout: StoreLayout, manifests: ManifestStore, place: Place) -> None:
    blob = place(digest("a").file_name)
    manifests.write(OWL, Manifest(layers=(Layer(digest=f"sha256:{'A' * 64}"),)))
    prune_unused(layout, manifests, now=NOW)
    assert blob.exists()


def test_downloads_can_be_resumed_for_a_week_and_their_parts_stay_together(
    layout: StoreLayout, manifests: ManifestStore, place: Place
) -> None:
    old = RESUMABLE_AGE + timedelta(days=1)
    lately = [place("sha256-1-partial", RESUMABLE_AGE - timedelta(days=1)), place("sha256-1-partial-0", old)]
    long_ago = [place(f"sha256-2-partial{part}", old) for part in ("", "-0", "-15")]
    assert prune_unused(layout, manifests, now=NOW) == len(long_ago)
    assert set(layout.blobs.iterdir()) == set(lately)


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_nothing_goes_while_a_manifest_is_broken(
    layout: StoreLayout,
    manifests: ManifestStore,
    place: Place,
    caplog: pytest.LogCaptureFixture,
    content: bytes,
) -> None:
    blob = place(digest("a").file_name)
    manifests.write_bytes(OWL, content)
    assert prune_unused(layout, manifests, now=NOW) == 0
    assert caplog.records[0].message == (
        "corrupt manifests detected, skipping prune operation.  Re-pull or delete to clear"
    )
    manifests.delete(OWL)
    caplog.clear()
    assert prune_unused(layout, manifests, now=NOW) == 1
    assert not blob.exists()
    assert [record.levelname for record in caplog.records] == []


def test_old_leftovers_among_the_manifests_go(layout: StoreLayout, manifests: ManifestStore) -> None:
    manifests.write(OWL, using("a"))
    old, young = layout.manifests / ".writing-old", layout.manifests / ".writing-young"
    for path, age in ((old, timedelta(hours=2)), (young, timedelta(0))):
        path.write_bytes(b"x")
        os.utime(path, ((NOW - age).timestamp(), (NOW - age).timestamp()))
    (layout.manifests / "empty" / "inside").mkdir(parents=True)
    prune_unused(layout, manifests, now=NOW)
    assert {path.name for path in layout.manifests.iterdir()} == {"registry.ollama.ai", young.name}


def test_links_are_not_pruned(layout: StoreLayout, manifests: ManifestStore, place: Place) -> None:
    target = place(digest("a").file_name, timedelta(0))
    link = layout.blobs / digest("b").file_name
    link.symlink_to(target)
    prune_unused(layout, manifests, now=NOW + timedelta(days=2))
    assert link.is_symlink()


def test_an_empty_store_can_be_pruned(layout: StoreLayout, manifests: ManifestStore) -> None:
    assert prune_unused(layout, manifests, now=NOW) == 0


def test_what_a_model_leaves_goes_at_once_unless_another_needs_it(
    layout: StoreLayout, manifests: ManifestStore, place: Place
) -> None:
    manifests.write(OWL, using("a", "b"))
    shared, own = place(digest("b").file_name), place(digest("c").file_name, timedelta(0))
    assert (
        remove_if_unused(layout, manifests, [str(digest("b")), str(digest("c")), str(digest("d")), "x"]) == 1
    )
    assert shared.exists()
    assert not own.exists()


def test_a_plan_says_what_would_go_and_what_is_too_young(
    layout: StoreLayout, manifests: ManifestStore, place: Place
) -> None:
    place(digest("a").file_name)
    for part in ("", "-0", "-1"):
        place(f"{digest('b').file_name}-partial{part}")
    place("sha256-123")
    place(digest("c").file_name, timedelta(minutes=1))
    plan = plan_prune(layout, manifests, now=NOW)
    assert {(found.name, found.kind, len(found.paths)) for found in plan.removable} == {
        (digest("a").file_name, Kind.BLOB, 1),
        (f"{digest('b').file_name}-partial", Kind.DOWNLOAD, 3),
        ("sha256-123", Kind.LEFTOVER, 1),
    }
    assert [found.name for found in plan.spared] == [digest("c").file_name]


def test_a_plan_tells_what_the_disk_gains(
    layout: StoreLayout, manifests: ManifestStore, place: Place
) -> None:
    path = place("sha256-1-partial")
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    os.utime(path, (0, 0))
    (found,) = plan_prune(layout, manifests, now=NOW).removable
    assert 0 < found.size_bytes <= 1 << 16


def test_what_changed_after_the_plan_stays(
    layout: StoreLayout, manifests: ManifestStore, place: Place
) -> None:
    gone, kept = place("sha256-1"), place("sha256-2")
    plan = plan_prune(layout, manifests, now=NOW)
    os.utime(kept)
    assert carry_out(plan, manifests) == 1
    assert (gone.exists(), kept.exists()) == (False, True)


def test_what_running_work_holds_stays(layout: StoreLayout, manifests: ManifestStore, place: Place) -> None:
    blob, download = place(digest("a").file_name), place(f"{digest('b').file_name}-partial")
    held = [held_name(digest("a")), held_name(digest("b"))]
    assert plan_prune(layout, manifests, now=NOW, held=held) == PrunePlan()
    assert remove_if_unused(layout, manifests, [str(digest("a"))], held=held) == 0
    assert blob.exists()
    assert download.exists()


def test_abandoned_conversions_go_on_demand(
    layout: StoreLayout, manifests: ManifestStore, place: Place
) -> None:
    old, young = layout.root / "ollama-safetensors1", layout.root / "ollama-safetensors2"
    other, links = layout.root / "mine", layout.blobs / "split-gguf-1"
    for directory in (old, young, other, links):
        (directory / "inside").mkdir(parents=True)
        path = directory / "inside" / "model.gguf"
        path.write_bytes(b"x")
        modified = (NOW - (timedelta(0) if directory == young else timedelta(days=1))).timestamp()
        os.utime(path, (modified, modified))
    assert plan_prune(layout, manifests, now=NOW) == PrunePlan()
    plan = plan_prune(layout, manifests, now=NOW, with_directories=True)
    assert [found.directory for found in plan.removable] == [old]
    assert [found.directory for found in plan.spared] == [young]
    assert carry_out(plan, manifests) == 1
    assert [path.exists() for path in (old, links, young, other)] == [False, True, True, True]
