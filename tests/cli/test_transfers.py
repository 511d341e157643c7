"""``orch pull`` and ``orch push``; ``signin`` and ``signout``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Orch
from tests.native_server import NativeServer, stalling_server

DIGEST = "sha256:6a0746a1ec1a" + "0" * 52


def test_a_pull_shows_statuses_and_bars(orch: Orch, server: NativeServer) -> None:
    server.says(
        "POST /api/pull",
        {"status": "pulling manifest"},
        {"status": "pulling 6a0746a1ec1a", "digest": DIGEST, "total": 1536},
        {"status": "pulling 6a0746a1ec1a", "digest": DIGEST, "total": 1536, "completed": 512},
        {"status": "success"},
    )
    lines = orch("pull", "--insecure", "m").err.splitlines()
    assert lines[0] == "pulling manifest"
    assert lines[1].startswith("pulling 6a0746a1ec1a: 100% ▕")
    assert lines[2:] == ["success"]
    assert server.asked("POST /api/pull") == [{"model": "m", "insecure": True}]


def test_whoever_interrupts_a_pull_is_told_how_to_go_on(tmp_path: Path) -> None:
    with stalling_server(b'{"status":"pulling manifest"}\n') as (url, asked):
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", "pull", "--insecure", "m"],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OLLAMA_HOST": url},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith(
        "Interrupted. What was fetched is kept: `orch pull --insecure m` goes on from there.\n"
    )


def test_a_blob_that_has_not_begun_shows_no_bar(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/pull", {"digest": DIGEST, "total": 1}, {"error": "file does not exist"})
    assert orch("pull", "m").err == "\nError: file does not exist\n"


@pytest.mark.parametrize(
    ("name", "address"),
    [("m", "https://ollama.com/library/m"), ("me/m:v2", "https://ollama.com/me/m:v2")],
)
def test_a_push_to_the_default_registry_asks_for_the_account(
    orch: Orch, server: NativeServer, name: str, address: str
) -> None:
    server.says("POST /api/me", {"name": "me"})
    server.says("POST /api/push", {"status": "retrieving manifest"}, {"status": "success"})
    printed = orch("push", name)
    assert printed.err == "retrieving manifest\nsuccess\n"
    expected = address.replace("/library/", "/")
    assert printed.out == f"\nYou can find your model at:\n\n\t{expected}\n"


def test_a_push_elsewhere_needs_no_account(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/push", {"status": "success"})
    assert orch("push", "example.org/lib/m").out.endswith("\n\texample.org/lib/m:latest\n")
    assert not server.asked("POST /api/me")


def test_without_an_account_a_push_says_where_to_sign_in(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/me", {"error": "unauthorized", "signin_url": "https://x/in"}, status=401)
    printed = orch("push", "m")
    assert (printed.status, printed.err) == (0, "")
    assert printed.out.startswith("You need to be signed in to push models to ollama.com.\n")
    assert "\n    https://x/in\n" in printed.out


@pytest.mark.parametrize("text", ["push: access denied", "unauthorized"])
def test_a_push_into_a_foreign_namespace_is_explained(orch: Orch, server: NativeServer, text: str) -> None:
    server.says("POST /api/push", {"error": text})
    assert "Error: you are not authorized to push to this namespace, " in orch("push", "example.org/l/m").err


@pytest.mark.parametrize("command", ["signin", "login"])
def test_who_is_signed_in_is_told(orch: Orch, server: NativeServer, command: str) -> None:
    server.says("POST /api/me", {"name": "me"})
    assert orch(command).out == "You are already signed in as user 'me'\n\n"


def test_where_to_sign_in_is_told(orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    server.says("POST /api/me", {"error": "unauthorized", "signin_url": "https://x/in"}, status=401)
    assert orch("signin").out == (
        "You need to be signed in to Ollama to run Cloud models.\n\n"
        "If your browser did not open, navigate to:\n    https://x/in\n\n"
    )


@pytest.mark.parametrize(
    ("status", "out"),
    [(200, "You have signed out of ollama.com\n\n"), (401, "You are not signed in to ollama.com\n\n")],
)
def test_signing_out_is_told(orch: Orch, server: NativeServer, status: int, out: str) -> None:
    server.says("POST /api/signout", None, status=status)
    assert orch("signout").out == out


def test_a_silent_account_service_is_an_error(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/signout", {"error": "there was an error signing out"}, status=500)
    printed = orch("logout")
    assert (printed.status, printed.err) == (1, "Error: there was an error signing out\n")
