"""``orch engine`` with caches and programs of the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import xllamacpp

from orchestrator.llama_cpp.cache import BuildCache, BuildFacts
from orchestrator.llama_cpp.project import find_project
from tests.cli.conftest import Orch

SCRIPT = "#!/bin/sh\necho 'version: 9' >&2\nexit 1\n"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user with an empty cache and no llama-server."""
    for name in ("ORCH_ENGINE", "ORCH_LLAMA_SERVER", "ORCH_LLAMA_CPP_SOURCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def build(key: str, preset: str = "cpu", recipe: str = "") -> Path:
    """A build in the cache, whose program does not serve."""
    project = find_project()
    assert project is not None
    cache = BuildCache.of(os.environ)
    made = cache.work(key) / "made"
    program = made / "lib/orch/llama-server"
    program.parent.mkdir(parents=True)
    program.write_text(SCRIPT)
    program.chmod(0o755)
    facts = BuildFacts("b1", preset, recipe or project.recipe(preset), "git", (), 1)
    return cache.keep(key, made, facts).library


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()[1:]]


def test_engines_are_listed_with_the_one_in_use(orch: Orch) -> None:
    library = build("b1-cpu-1")
    old = build("b1-cpu-2", recipe="old")
    first, second, third = rows(orch("engine", "list").out)
    assert first == ["*", "native", "b1", "cpu", str(library / "llama-server")]
    assert second[:3] == ["embedded", "xllamacpp", xllamacpp.__version__]
    assert third == ["old", "build", "b1", "cpu", str(old)]


@pytest.mark.parametrize(
    ("script", "version"),
    [
        (SCRIPT, ["9"]),
        ("#!/bin/sh\necho 'version: 11434 (cafe)' >&2\n", ["11434"]),
        ("#!/bin/sh\nexit 1\n", []),
        ("", []),
    ],
)
def test_an_engine_that_is_named_is_listed_first_with_what_it_says_it_is(
    orch: Orch, monkeypatch: pytest.MonkeyPatch, alone: Path, script: str, version: list[str]
) -> None:
    mine = alone / "mine"
    mine.write_text(script)
    mine.chmod(0o755)
    monkeypatch.setenv("ORCH_LLAMA_SERVER", str(mine))
    assert rows(orch("engine", "list").out)[0] == ["*", "native", *version, str(mine)]


def test_an_examination_that_fails_is_a_status(orch: Orch) -> None:
    build("b1-cpu-1")
    printed = orch("engine", "doctor")
    assert printed.status == 1
    assert "version    9\n" in printed.out
    assert "trial      FAILED" in printed.out
    assert "pinned     llama.cpp b11434\n" in printed.out
    assert "can build  no: there is no cmake" in printed.out


def test_a_kind_that_is_not_there_is_an_error(orch: Orch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCH_ENGINE", "native")
    printed = orch("engine", "doctor")
    assert (printed.status, printed.err) == (
        1, "Error: no engine found: ORCH_ENGINE=native, and there is no llama-server\n",
    )  # fmt: skip


def test_a_build_that_is_there_is_not_made_again(orch: Orch) -> None:
    project = find_project()
    assert project is not None
    library = build(f"{project.pin.tag}-cpu-{project.recipe('cpu')[:12]}")
    printed = orch("engine", "build", "--preset", "cpu")
    assert (printed.status, printed.out) == (0, f"{library / 'llama-server'}\n")
    assert printed.err == f"found {library}\n"


def test_building_without_tools_says_so(orch: Orch) -> None:
    printed = orch("engine", "build")
    assert printed.status == 1
    assert printed.err.startswith("Error: there is no cmake\ninstall it: ")


def test_old_builds_are_shown_and_removed(orch: Orch) -> None:
    library, old = build("b1-cpu-1"), build("b1-cpu-2", recipe="old")
    printed = orch("engine", "prune", "--dry-run")
    head, row, *rest = printed.out.splitlines()
    assert head.split() == ["KIND", "NAME", "SIZE", "USED"]
    assert row.split("    ")[:2] == ["old build", "b1-cpu-2"]
    assert rest[1].startswith("1 item, ")
    assert old.exists()
    printed = orch("engine", "prune", "--yes")
    assert (printed.status, printed.out.splitlines()[-1][:14]) == (0, "removed 1 item")
    assert library.exists()
    assert not old.parents[1].exists()
    assert orch("engine", "prune").out == "there is nothing to remove\n"


def test_nothing_is_removed_unasked(orch: Orch, monkeypatch: pytest.MonkeyPatch) -> None:
    old = build("b1-cpu-2", recipe="old")
    with open(os.devnull) as nobody:  # noqa: PTH123 - no path, a device
        monkeypatch.setattr("sys.stdin", nobody)
        printed = orch("engine", "prune")
    assert (printed.status, printed.err) == (
        1,
        "Error: nothing was removed: pass --yes to remove without being asked\n",
    )
    assert old.exists()


def test_the_engine_in_use_is_not_pruned(orch: Orch, monkeypatch: pytest.MonkeyPatch) -> None:
    old = build("b1-cpu-2", recipe="old")
    monkeypatch.setenv("ORCH_LLAMA_SERVER", str(old / "llama-server"))
    assert orch("engine", "prune", "--yes").out == "there is nothing to remove\n"
    assert old.exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ["engine", "polish"],
            "Error: unknown action 'polish' for engine, there are build, list, doctor, prune\n",
        ),
        (["engine"], "Error: accepts 1 arg(s), received 0\n"),
    ],
)
def test_what_cannot_be_done_is_told(orch: Orch, words: list[str], complaint: str) -> None:
    printed = orch(*words)
    assert (printed.status, printed.err) == (1, complaint)


def test_an_unknown_preset_is_told_with_those_there_are(orch: Orch) -> None:
    printed = orch("engine", "build", "--preset", "fast")
    assert printed.status == 1
    assert printed.err.startswith(
        "Error: unknown preset 'fast'\npresets: cpu (Any machine of this architecture), "
    )
