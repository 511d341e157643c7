"""Of the cache goes what no build of the project will use again, and nothing that somebody has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.llama_cpp.cache import Build, in_use
from orchestrator.llama_cpp.prune import Kind, Leftover, leftovers, remove
from tests.llama_cpp.conftest import World
from tests.llama_cpp.test_cache import facts, keep

OLD = "b0-cpu-000000000000"


def kept(world: World, key: str, *, old: bool = True) -> Build:
    """A build in the cache, with a program of eight bytes."""
    keep(world.cache, key, facts(world.project, **({"recipe": "old"} if old else {})))
    build = world.cache.find(key)
    assert build is not None
    build.library.mkdir(parents=True)
    (build.library / "llama-server").write_bytes(b"#!/bin/1")
    return build


def begun(world: World, key: str) -> Path:
    """A build that somebody stopped."""
    folder = world.cache.work(key)
    (folder / "build.log").write_text("half")
    return folder


def found(world: World) -> list[tuple[Kind, str]]:
    return [(each.kind, each.name) for each in leftovers(world.cache, world.project)]


def only(world: World) -> Leftover:
    (each,) = leftovers(world.cache, world.project)
    return each


def test_an_empty_cache_has_no_leftovers(world: World) -> None:
    assert leftovers(world.cache, world.project) == ()


def test_old_builds_go_and_those_of_the_project_stay(world: World) -> None:
    current = kept(world, world.project.key("cpu"), old=False)
    old = kept(world, OLD)
    os.utime(old.folder / "build.json", (1000, 1000))
    assert found(world) == [(Kind.BUILD, OLD)]
    assert only(world).used_s == 1000
    assert only(world).size_bytes == 8 + (old.folder / "build.json").stat().st_size
    assert remove(world.cache, only(world))
    assert world.cache.builds() == (current,)
    assert {path.name for path in world.cache.root.iterdir()} == {current.folder.name, f"{OLD}.lock"}


def test_an_unfinished_build_goes_unless_the_next_one_goes_on_from_it(world: World) -> None:
    begun(world, world.project.key("cpu"))
    begun(world, f"{world.project.key('native')}-0123abcd")
    old = begun(world, OLD)
    assert found(world) == [(Kind.UNFINISHED, OLD)]
    assert remove(world.cache, only(world))
    assert not old.exists()


def test_an_archive_of_another_pin_goes(world: World) -> None:
    world.cache.downloads.mkdir(parents=True)
    for name in (world.project.pin.archive_name, f"{'1' * 64}.tar.gz"):
        (world.cache.downloads / name).write_text("source")
    assert found(world) == [(Kind.ARCHIVE, "1" * 12)]
    assert remove(world.cache, only(world))
    assert [path.name for path in world.cache.downloads.iterdir()] == [world.project.pin.archive_name]


def test_an_engine_that_is_named_is_spared(world: World) -> None:
    old = kept(world, OLD)
    assert leftovers(world.cache, world.project, spared={old.library}) == ()


def test_what_a_daemon_uses_stays_until_it_has_ended(world: World) -> None:
    old = kept(world, OLD)
    with in_use(old.library), in_use(old.library):
        assert not remove(world.cache, only(world))
        assert (old.library / "llama-server").exists()
    assert remove(world.cache, only(world))
    assert not old.folder.exists()


def test_what_is_being_built_stays(world: World) -> None:
    folder = begun(world, OLD)
    with world.cache.lock(OLD):
        assert not remove(world.cache, only(world))
        assert (folder / "build.log").exists()


def test_an_old_build_goes_with_what_a_stopped_one_left_beside_it(world: World) -> None:
    kept(world, OLD)
    begun(world, OLD)
    both = leftovers(world.cache, world.project)
    assert [each.kind for each in both] == [Kind.BUILD, Kind.UNFINISHED]
    assert [remove(world.cache, each) for each in both] == [True, False]
    assert found(world) == []


@pytest.mark.parametrize("kind", Kind)
def test_what_another_has_removed_is_no_error(world: World, kind: Kind) -> None:
    assert not remove(world.cache, Leftover(kind, world.cache.root / OLD, 0, 0.0))


@pytest.mark.parametrize("library", [None, Path("/"), Path("/usr/bin")])
def test_engines_from_elsewhere_need_no_keeping(library: Path | None) -> None:
    with in_use(library):
        pass
