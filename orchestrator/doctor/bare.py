"""An engine by itself, without a daemon around it, to look at what it says."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx

from orchestrator.errors import RunnerFailed
from orchestrator.process.address import Address, TcpAddress, UnixAddress, free_port
from orchestrator.runners.engines import EngineInfo, Transport
from orchestrator.runners.llama.launch import media_marker

_POLL_S = 0.02
_START_PATIENCE_S = 60.0
_ANSWER_PATIENCE_S = 300.0
_STOP_PATIENCE_S = 20.0
_ONE_CALL = httpx.Limits(max_keepalive_connections=0)
"""A connection serves one call: engines close idle ones without a word."""

Arguments = Callable[[Address, str], Sequence[str]]
"""The command line for an address and a marker of media, without the program."""


@dataclass(frozen=True, slots=True)
class BareEngine:
    """An engine process. It may be ready, still loading, or dead."""

    process: subprocess.Popen[bytes]
    address: Address
    http: httpx.Client
    marker: str
    _log: Path

    def log(self) -> list[str]:
        """The lines it has written."""
        return self._log.read_text(errors="replace").splitlines()

    def health(self) -> tuple[int, Any]:
        """Status and body of the health check; 0 while nothing listens."""
        connection = HTTPConnection("engine", timeout=_ANSWER_PATIENCE_S)
        try:
            connection.sock = _connected(self.address)
            connection.request("GET", "/health")
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except OSError:
            return 0, None
        finally:
            connection.close()

    def wait_until_ready(self) -> None:
        """Wait until it may serve. Raises ``RunnerFailed`` with its last words."""
        deadline = time.monotonic() + _START_PATIENCE_S
        while self.health()[0] != 200:
            if self.process.poll() is not None or time.monotonic() > deadline:
                words = "\n".join(self.log()[-5:])
                raise RunnerFailed(f"the engine did not become ready (exit {self.process.poll()}): {words}")
            time.sleep(_POLL_S)


@contextmanager
def bare_engine(engine: EngineInfo, arguments: Arguments, environ: Mapping[str, str]) -> Iterator[BareEngine]:
    """``engine`` started with ``arguments``; it is gone afterwards."""
    marker = media_marker(secrets.token_hex(16))
    with tempfile.TemporaryDirectory(prefix="orch-engine-") as folder:
        path, log = Path(folder) / "engine.sock", Path(folder) / "engine.log"
        address: Address = UnixAddress(path)
        transport, base = httpx.HTTPTransport(uds=str(path), limits=_ONE_CALL), "http://engine"
        if engine.transport is Transport.TCP:
            address = TcpAddress(free_port())
            transport, base = httpx.HTTPTransport(limits=_ONE_CALL), f"http://{address}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*engine.argv_prefix, *arguments(address, marker)],
                env={**environ, "LLAMA_MEDIA_MARKER": marker},
                cwd=engine.cwd,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )
        client = httpx.Client(transport=transport, base_url=base, timeout=_ANSWER_PATIENCE_S, trust_env=False)
        try:
            with client:
                yield BareEngine(process, address, client, marker, log)
        finally:
            _end(process)


def _connected(address: Address) -> socket.socket:
    """A connection to ``address``. Raises ``OSError``."""
    is_unix = isinstance(address, UnixAddress)
    channel = socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET)
    try:
        channel.settimeout(_ANSWER_PATIENCE_S)
        channel.connect(
            str(address.path) if isinstance(address, UnixAddress) else (address.host, address.port)
        )
    except OSError:
        channel.close()
        raise
    return channel


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_PATIENCE_S)
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
