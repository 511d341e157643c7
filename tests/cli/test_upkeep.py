"""``orch prune`` and ``orch verify``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Orch
from tests.cli_replay.terminal import terminal
from tests.native_server import NativeServer

DIGEST = "sha256:6a0746a1ec1a" + "0" * 52
OLD = {
    "name": "sha256-6a0746a1ec1a" + "0" * 52 + "-partial",
    "kind": "interrupted download",
    "size": 1_500_000_000,
    "modified_at": "2020-01-01T00:00:00Z",
}
FOUND = {"size": 1_500_000_000, "files": [OLD], "spared_size": 512, "spared": [OLD | {"size": 512}]}
NOTHING = {"size": 0, "files": [], "spared_size": 0, "spared": []}
DAMAGE = {
    "name": DIGEST,
    "problem": "damaged",
    "reason": "it has 2 bytes instead of 3",
    "models": ["owl:latest", "fox:latest"],
    "repaired": False,
}
VERIFYING = {"status": "verifying 6a0746a1ec1a", "digest": DIGEST, "total": 3, "completed": 3}


def test_what_would_go_is_shown(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/prune", FOUND)
    printed = orch("prune", "--dry-run")
    assert printed.status == 0
    head, row, *rest = printed.out.splitlines()
    assert head.split() == ["NAME", "KIND", "SIZE", "MODIFIED"]
    assert row.split("    ")[:3] == ["6a0746a1ec1a", "interrupted download", "1.5 GB"]
    assert rest == [
        "",
        "1 item, 1.5 GB in all",
        "1 item of 512 B will stay for now, being younger than an hour",
    ]
    assert server.asked("POST /api/prune") == [{"dry_run": True}]


def test_yes_removes_without_a_question(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/prune", FOUND)
    assert orch("prune", "--yes").out.endswith("\nremoved 1 item, 1.5 GB\n")
    assert server.asked("POST /api/prune") == [{"dry_run": True}, {"dry_run": False}]


def test_nothing_is_removed_when_there_is_nobody_to_ask(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.says("POST /api/prune", FOUND)
    with open(os.devnull) as nobody:  # noqa: PTH123 - no path, a device
        monkeypatch.setattr(sys, "stdin", nobody)
        printed = orch("prune")
    assert (printed.status, printed.err) == (
        1,
        "Error: nothing was removed: pass --yes to remove without being asked\n",
    )
    assert server.asked("POST /api/prune") == [{"dry_run": True}]


@pytest.mark.parametrize(("typed", "asked"), [("y", 2), ("n", 1), ("Enter", 1), ("C-d", 1)])
def test_at_a_terminal_it_asks(server: NativeServer, tmp_path: Path, typed: str, asked: int) -> None:
    server.says("POST /api/prune", FOUND)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OLLAMA_HOST": server.url}
    command = [sys.executable, "-m", "orchestrator.cli", "prune"]
    with terminal(command, environment=environment, folder=tmp_path) as screen:
        assert screen.wait_until(lambda: screen.text.endswith("Remove? [y/N]"), 30)
        keys = [{"key": typed}] if len(typed) > 1 else [{"text": typed}, {"key": "Enter"}]
        for key in keys:
            screen.press(key)
        assert screen.wait_until(lambda: screen.text.endswith("<EXIT 0>"), 30)
    assert len(server.asked("POST /api/prune")) == asked


def test_when_there_is_nothing_to_remove_nothing_is_asked(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/prune", NOTHING)
    assert orch("prune").out == "there is nothing to remove\n"


def test_a_whole_store_is_all_right(orch: Orch, server: NativeServer) -> None:
    server.says(
        "POST /api/verify",
        VERIFYING,
        {"status": "success", "blobs": 1, "size": 3, "damages": []},
    )
    printed = orch("verify")
    assert printed.status == 0
    assert printed.out == "1 blob, 3 B: all right\n"
    assert printed.err.startswith("verifying 6a0746a1ec1a: 100% ▕")
    assert server.asked("POST /api/verify") == [{"model": "", "repair": False, "insecure": False}]


def test_damage_is_told_and_is_a_failure(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/verify", {"status": "damaged", "blobs": 2, "size": 3, "damages": [DAMAGE]})
    printed = orch("verify", "owl")
    assert printed.out == f"damaged: {DIGEST} of owl:latest, fox:latest: it has 2 bytes instead of 3\n"
    assert (printed.status, printed.err.strip()) == (1, "Error: the store is damaged in 1 place")
    assert server.asked("POST /api/verify")[0]["model"] == "owl"


def test_what_was_repaired_is_no_failure(orch: Orch, server: NativeServer) -> None:
    repaired = DAMAGE | {"repaired": True}
    server.says(
        "POST /api/verify",
        VERIFYING,
        VERIFYING | {"status": "pulling 6a0746a1ec1a", "completed": 1},
        {"status": "success", "blobs": 2, "size": 3, "damages": [repaired]},
    )
    printed = orch("verify", "--repair", "--insecure")
    assert printed.status == 0
    bars = [line.split(":")[0] for line in printed.err.splitlines()]
    assert bars == ["verifying 6a0746a1ec1a", "pulling 6a0746a1ec1a"]
    assert printed.out.splitlines()[0].endswith("instead of 3; fetched again")
    assert server.asked("POST /api/verify") == [{"model": "", "repair": True, "insecure": True}]


def test_what_could_not_be_repaired_says_why(orch: Orch, server: NativeServer) -> None:
    left = DAMAGE | {"repair_error": "no registry can be reached: owl:latest: no such host"}
    server.says("POST /api/verify", {"status": "damaged", "blobs": 2, "size": 3, "damages": [left]})
    printed = orch("verify", "--repair")
    assert printed.status == 1
    assert "; not fetched again: no registry can be reached: owl:latest: no such host\n" in printed.out
