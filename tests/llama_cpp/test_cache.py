from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from orchestrator.llama_cpp.cache import BuildCache, BuildFacts
from orchestrator.llama_cpp.project import Project, find_project
from tests.llama_cpp.conftest import ROOT, World


def facts(project: Project, preset: str = "cpu", **changes: str) -> BuildFacts:
    values = {"tag": "b1", "preset": preset, "recipe": project.recipe(preset), "source": "git"} | changes
    return BuildFacts(**values, patches=(), seconds=1)


def keep(cache: BuildCache, key: str, kept: BuildFacts) -> None:
    made = cache.work(key) / "made"
    made.mkdir()
    cache.keep(key, made, kept)


def test_the_cache_is_where_the_system_wants_it() -> None:
    assert BuildCache.of({"XDG_CACHE_HOME": "/c", "HOME": "/h"}).root == Path("/c/orch/llama")
    assert BuildCache.of({"HOME": "/h"}).root == Path("/h/.cache/orch/llama")


def test_the_build_last_asked_for_comes_first(world: World) -> None:
    cache = world.cache
    for number, key in enumerate(("b1-cpu-1", "b1-native-2")):
        keep(cache, key, facts(world.project, key.split("-")[1]))
        os.utime(cache.root / key / "build.json", (number, number))
    assert [build.folder.name for build in cache.builds_of(world.project)] == ["b1-native-2", "b1-cpu-1"]
    cache.prefer(cache.builds()[1])
    assert [build.folder.name for build in cache.builds_of(world.project)] == ["b1-cpu-1", "b1-native-2"]


def test_builds_of_another_recipe_and_half_ones_are_not_used(world: World) -> None:
    cache = world.cache
    keep(cache, "b1-cpu-1", facts(world.project, recipe="old"))
    (cache.work("b1-cpu-2") / "build.json").write_text((cache.root / "b1-cpu-1/build.json").read_text())
    (cache.root / "other").mkdir()
    (cache.root / "other/build.json").write_text("{}")
    assert len(cache.builds()) == 1
    assert cache.builds_of(world.project) == ()


@pytest.mark.parametrize(
    "file", ["CMakeLists.txt", "CMakePresets.json", "llama/LLAMA_CPP_VERSION", "llama/cmake/options.cmake"]
)
def test_everything_that_decides_the_result_changes_the_recipe(world: World, file: str) -> None:
    before = world.project.recipe("cpu")
    path = world.folder / "project" / file
    path.write_text(f"{path.read_text()}\n")
    assert world.project.recipe("cpu") != before


def test_patches_and_presets_change_the_recipe(world: World) -> None:
    recipes = {world.project.recipe(preset) for preset in ("cpu", "native")}
    world.patch()
    recipes |= {world.project.recipe("cpu")}
    assert len(recipes) == 3


def test_this_checkout_has_its_project() -> None:
    project = find_project()
    assert project is not None
    assert project.root == ROOT
    everywhere = {"cpu", "native", "cuda", "rocm", "vulkan"}
    assert set(project.presets) == everywhere | ({"metal"} if platform.system() == "Darwin" else set())
