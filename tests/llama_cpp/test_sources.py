"""Each way to the source works, is checked, and says what to do when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.llama_cpp.errors import BrokenPatch, NoSource, TamperedSource
from orchestrator.llama_cpp.sources import Origin, prepare
from tests.llama_cpp.conftest import BESIDE, FILES, PATCH, World, write_archive, write_tree

ARCHIVE = "toy_source-1.0.tar.gz"


def prepared(world: World) -> Origin:
    downloads = world.cache.downloads
    return prepare(
        world.project, source(world), downloads=downloads, environ=world.environ, say=world.said.append
    )


def source(world: World) -> Path:
    return world.folder / "work/source"


def contents(root: Path) -> dict[str, str]:
    names = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return {name: (root / name).read_text() for name in names if name != ".orch-source"}


def test_a_tag_is_fetched_with_git(world: World) -> None:
    world.publish()
    assert prepared(world) == Origin("git", ())
    assert contents(source(world)) == FILES


def test_a_source_distribution_takes_its_place_where_git_reaches_nothing(world: World) -> None:
    write_archive(world.index / ARCHIVE, FILES | BESIDE)
    world.pin()
    assert prepared(world) == Origin("sdist", ())
    assert contents(source(world)) == FILES
    assert any("does not answer" in line for line in world.said)


def test_an_archive_fetched_once_needs_no_network_again(world: World) -> None:
    write_archive(world.index / ARCHIVE, FILES)
    world.pin()
    prepared(world)
    (world.index / ARCHIVE).rename(world.folder / "gone")
    first, again = source(world), world.folder / "again/source"
    prepare(world.project, again, downloads=world.cache.downloads, environ=world.environ, say=print)
    assert contents(again) == contents(first)


def test_a_damaged_archive_in_the_cache_is_fetched_again(world: World) -> None:
    write_archive(world.index / ARCHIVE, FILES)
    world.pin()
    kept = world.cache.downloads / f"{world.project.pin.archive}.tar.gz"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"half of it")
    assert prepared(world).kind == "sdist"
    assert kept.read_bytes() == (world.index / ARCHIVE).read_bytes()


def test_a_folder_that_is_named_is_taken_as_it_is_and_never_changed(world: World) -> None:
    mine = write_tree(world.folder / "mine")
    (mine / "src/library.cpp").write_text("int answer() { return 43; }\n")
    before = contents(mine)
    world.environ["ORCH_LLAMA_CPP_SOURCE"] = str(mine)
    world.patch()
    assert prepared(world) == Origin("folder", ("0001-toy.patch",))
    assert contents(mine) == before
    assert "43" in (source(world) / "src/library.cpp").read_text()
    assert "patched" in (source(world) / "tools/server/main.cpp").read_text()


def test_a_tree_that_is_prepared_is_kept_until_something_changes(world: World) -> None:
    world.environ["ORCH_LLAMA_CPP_SOURCE"] = str(write_tree(world.folder / "mine"))
    prepared(world)
    mark = source(world) / "src/object.o"
    mark.touch()
    prepared(world)
    assert mark.exists()
    world.patch()
    prepared(world)
    assert not mark.exists()
    assert "patched" in (source(world) / "tools/server/main.cpp").read_text()


def test_an_archive_with_another_checksum_is_refused(world: World) -> None:
    write_archive(world.index / ARCHIVE, FILES)
    world.pin(sdist=f"toy-source==1.0 sha256:{'1' * 64}")
    with pytest.raises(
        TamperedSource, match=r"^toy-source==1\.0: the archive does not have the pinned checksum$"
    ):
        prepared(world)
    assert not list(world.cache.downloads.iterdir())
    assert not source(world).exists()


def test_a_tag_that_was_moved_is_refused(world: World) -> None:
    world.publish()
    world.pin(tree=f"sha256:{'1' * 64}")
    with pytest.raises(
        TamperedSource, match=r"^llama\.cpp b1 from git: its files do not have the pinned checksum$"
    ):
        prepared(world)
    assert not source(world).exists()


def test_a_broken_patch_leaves_no_source_behind(world: World) -> None:
    world.publish()
    world.patch(PATCH.replace("version: toy", "version: other"))
    with pytest.raises(BrokenPatch, match=r"tools/server/main\.cpp, hunk 1 of 1 \(@@ -2,5"):
        prepared(world)
    assert not source(world).exists()


def test_without_any_source_the_ways_to_go_on_are_named(world: World) -> None:
    with pytest.raises(
        NoSource, match="llama.cpp b1 cannot be fetched: .*does not answer.*; pip cannot fetch"
    ) as caught:
        prepared(world)
    hint = caught.value.hint or ""
    assert "ORCH_LLAMA_CPP_SOURCE" in hint
    assert str(world.cache.downloads) in hint


def test_without_git_the_distribution_is_asked_for_at_once(world: World) -> None:
    write_archive(world.index / ARCHIVE, FILES)
    world.pin()
    world.environ["PATH"] = str(world.folder / "empty")
    assert prepared(world).kind == "sdist"
    assert "source: there is no git" in world.said


def test_a_repository_without_the_tag_is_told(world: World) -> None:
    world.publish()
    world.pin(tag="b2")
    with pytest.raises(NoSource, match="has no tag b2"):
        prepared(world)


def test_a_folder_without_llama_cpp_is_refused(world: World) -> None:
    world.environ["ORCH_LLAMA_CPP_SOURCE"] = str(world.index)
    with pytest.raises(
        NoSource, match=r"^ORCH_LLAMA_CPP_SOURCE=.*index: there is no llama\.cpp source tree$"
    ):
        prepared(world)


def test_members_that_would_leave_the_folder_are_not_unpacked(world: World) -> None:
    world.cache.downloads.mkdir(parents=True)
    write_archive(world.index / ARCHIVE, FILES | {"src/../../../../evil": "x"})
    world.pin()
    (world.index / ARCHIVE).rename(world.cache.downloads / f"{world.project.pin.archive}.tar.gz")
    prepared(world)
    assert contents(source(world)) == FILES
    assert not list(world.folder.rglob("evil"))
