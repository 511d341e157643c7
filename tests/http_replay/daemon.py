"""``orch serve`` on a free loopback port, with a home of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.engine_choice import chosen_environment
from tests.http_replay.transport import Server

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 20.0
POLL_S = 0.02

_NOT_INHERITED = ("OLLAMA_", "ORCH_", "LLAMA_", "GGML_", "CUDA_", "OMP_", "LD_LIBRARY_PATH")
"""Beginnings of the variables that change what a daemon does."""


class DaemonDied(Exception):
    """It ended, or did not answer in time."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that is up."""

    server: Server
    process: subprocess.Popen[bytes]
    log: Path


@contextlib.contextmanager
def running_daemon(home: Path, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Where a daemon answers, see ``daemon_process``."""
    with daemon_process(home, environment) as daemon:
        yield daemon.server


@contextlib.contextmanager
def daemon_process(
    home: Path, environment: Mapping[str, str] | None = None, *, port: int = 0
) -> Iterator[Daemon]:
    """A daemon whose home, store and log are in ``home``; it is stopped on leaving.

    Raises ``DaemonDied`` with the end of its log when it does not come up.
    """
    server = Server("127.0.0.1", port or free_port())
    given = {
        "OLLAMA_HOST": server.address,
        "OLLAMA_MODELS": str(home / "models"),
        "OLLAMA_NO_CLOUD": "1",
        "HOME": str(home),
        **chosen_environment(),
        "ORCH_SSE_PING": "0",  # signs of life would stand between recorded events on a slow machine
    }
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_INHERITED)}
    log = home / "serve.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", "serve"],
            env=inherited | given | dict(environment or {}),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        if not comes_up(process, server, within_s=START_TIMEOUT_S):
            _stop(process)
            raise DaemonDied(f"exit status {process.returncode}: {log.read_text(errors='replace')[-2000:]}")
        yield Daemon(server, process, log)
    finally:
        _stop(process)


def free_port() -> int:
    """A port of the loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def comes_up(process: subprocess.Popen[bytes], server: Server, *, within_s: float) -> bool:
    """Whether ``process`` answers in time."""
    deadline = time.monotonic() + within_s
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((server.host, server.port), timeout=1):
            return True
        time.sleep(POLL_S)  # another process; it tells nobody but the port
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_TIMEOUT_S)
