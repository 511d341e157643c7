"""The program at a real terminal, talking to a small server that says what it is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli_replay.terminal import Terminal, terminal
from tests.native_server import NativeServer, native_server

SECONDS = 20.0
PROMPT = ">>> Send a message (/? for help)"

RIVERS = (
    "Rivers are indeed one of the most fascinating and diverse natural systems on our planet. They're a "
    "complex network of interconnected pathways that crisscross the globe, with their own unique ecosystems "
    "and habitats."
)
WRAPPED = (
    "Rivers are indeed one of the most fascinating and diverse natural systems on our planet.\n"
    "They're a complex network of interconnected pathways that crisscross the globe, with their own\n"
    "unique ecosystems and habitats.\n"
)


@pytest.fixture
def server() -> Iterator[NativeServer]:
    with native_server() as server:
        server.says("POST /api/show", {"capabilities": ["completion", "thinking"]})
        server.says("POST /api/generate", {"done": True})
        yield server


@contextmanager
def orch(server: NativeServer, folder: Path, command: str, *words: str) -> Iterator[Terminal]:
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "HOME": str(folder)}
    environment["OLLAMA_HOST"] = server.url
    with terminal(
        [sys.executable, "-m", "orchestrator.cli", command, *words], environment=environment, folder=folder
    ) as screen:
        yield screen


def shows(screen: Terminal, text: str) -> None:
    """Wait until the screen is that text."""
    screen.wait_until(lambda: screen.text == text, SECONDS)
    assert screen.text == text


def test_an_answer_is_wrapped_between_words(server: NativeServer, tmp_path: Path) -> None:
    words = [{"response": f"{word} "} for word in RIVERS.split(" ")]
    server.says("POST /api/generate", *words, {"done": True})
    with orch(server, tmp_path, "run", "m", "rivers?") as screen:
        shows(screen, f"{WRAPPED}\n<EXIT 0>")


def test_wrapping_can_be_switched_off(server: NativeServer, tmp_path: Path) -> None:
    server.says("POST /api/generate", {"response": RIVERS, "done": True})
    with orch(server, tmp_path, "run", "m", "--nowordwrap", "rivers?") as screen:
        shows(screen, f"{RIVERS[:100]}\n{RIVERS[100:200]}\n{RIVERS[200:]}\n\n<EXIT 0>")


def test_thinking_is_grey_and_its_marks_are_bold(server: NativeServer, tmp_path: Path) -> None:
    server.says("POST /api/generate", {"thinking": "hm"}, {"response": "Yes", "done": True})
    with orch(server, tmp_path, "run", "m", "sure?") as screen:
        shows(screen, "Thinking...\nhm\n...done thinking.\n\nYes\n\n<EXIT 0>")
        drawn = {(cell.color, cell.bold) for cell in screen.cells() if cell.text in "T.dg"}
        assert drawn == {("8a8a8a", True)}
        assert {(cell.color, cell.bold) for cell in screen.cells() if cell.text in "hm"} >= {
            ("8a8a8a", False)
        }
        assert {(cell.color, cell.bold) for cell in screen.cells() if cell.text == "Y"} == {
            ("default", False)
        }


def test_a_session_greets_with_a_hint_and_ends_with_a_word(server: NativeServer, tmp_path: Path) -> None:
    server.says("POST /api/chat", {"message": {"role": "assistant", "content": RIVERS}, "done": True})
    with orch(server, tmp_path, "run", "m") as screen:
        shows(screen, PROMPT)
        assert screen.cursor == [4, 0]
        screen.press({"text": "rivers?"})
        screen.press({"key": "Enter"})
        shows(screen, f">>> rivers?\n{WRAPPED}\n{PROMPT}")
        screen.press({"text": "/bye"})
        screen.press({"key": "Enter"})
        shows(screen, f">>> rivers?\n{WRAPPED}\n>>> /bye\n<EXIT 0>")


def test_the_reason_of_an_error_comes_with_advice(server: NativeServer, tmp_path: Path) -> None:
    (tmp_path / "Modelfile").write_text("FROM base\nSYSTEM hi\nFLAVOUR sweet\n")
    with orch(server, tmp_path, "create", "m") as screen:
        screen.wait_until(lambda: "<EXIT 1>" in screen.text, SECONDS)
        assert "Error: (line 3): command must be one of" in screen.text
        assert "sweet" in screen.text


@pytest.mark.parametrize("command", ["pull", "push", "run"])
@pytest.mark.parametrize(
    "reason",
    [
        "first record does not look like a TLS handshake",
        "failed to verify certificate: self-signed certificate",
    ],
)
def test_a_registry_without_trusted_https_is_told_with_the_switch_for_it(
    server: NativeServer, tmp_path: Path, command: str, reason: str
) -> None:
    error = {"error": f'Get "https://h/v2/m/manifests/latest": tls: {reason}'}
    server.says("POST /api/show", {"error": "model 'h/n/m' not found"}, status=404)
    server.says(f"POST /api/{'push' if command == 'push' else 'pull'}", error)
    with orch(server, tmp_path, command, "h/n/m") as screen:
        screen.wait_until(lambda: "<EXIT 1>" in screen.text, SECONDS)
        assert reason.split(":")[0] in " ".join(screen.text.split())
        assert "pass --insecure" in " ".join(screen.text.split())
