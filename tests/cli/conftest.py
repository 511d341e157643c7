"""A small server for the command line, and the program run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.cli.program import main
from tests.native_server import NativeServer, native_server


@dataclass(frozen=True, slots=True)
class Printed:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


Orch = Callable[..., Printed]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[NativeServer]:
    """A server that ``OLLAMA_HOST`` names."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with native_server() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def orch(capsys: pytest.CaptureFixture[str]) -> Orch:
    """The program, called with words."""

    def call(*words: str) -> Printed:
        status = main(words)
        printed = capsys.readouterr()
        return Printed(status, printed.out, printed.err)

    return call
