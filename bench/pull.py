"""Measures pulls: 1 GB from this machine against ``curl`` and ``sha256sum``, and 200 small layers.

    .venv/bin/python -m bench.pull [size in MB]

The registry sends files with ``sendfile``, so it is as quick as the machine allows. Each time is the best
of three, for other work on the machine only ever makes it worse.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.daemons import Daemon, daemon

_ROUNDS = 3
_SMALL_LAYERS = 200
_SMALL_BYTES = 20_000
_MODEL = "application/vnd.ollama.image.model"
_CONFIG = "application/vnd.docker.container.image.v1+json"


class Registry(http.server.ThreadingHTTPServer):
    """Models on a loopback port. Blobs are the files of ``folder``, by their digests."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.manifests: dict[str, bytes] = {}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def add(self, name: str, *layers: Path) -> str:
        """Serve these files as a model. The name to pull."""
        config = self.folder / "config"
        config.write_bytes(b"{}\n")
        described = [self._described(_MODEL, layer) for layer in layers]
        manifest = {"schemaVersion": 2, "config": self._described(_CONFIG, config), "layers": described}
        self.manifests[name] = json.dumps(manifest).encode()
        return f"{self.address}/bench/{name}"

    def _described(self, kind: str, file: Path) -> dict[str, Any]:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        link = self.folder / digest
        link.unlink(missing_ok=True)
        link.hardlink_to(file)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": file.stat().st_size}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Registry

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        *_, kind, reference = self.path.split("/")
        if kind == "manifests":
            content = self.server.manifests[self.path.split("/")[-3]]
            self._head(200, len(content))
            self.wfile.write(content)
            return
        with (self.server.folder / reference.removeprefix("sha256:")).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            first, end = (int(wanted[1]), int(wanted[2]) + 1) if wanted else (0, size)
            part = {"Content-Range": f"bytes {first}-{end - 1}/{size}"} if wanted else {}
            self._head(206 if wanted else 200, end - first, **part)
            while first < end:
                first += os.sendfile(self.connection.fileno(), file.fileno(), first, end - first)

    def _head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()


@contextmanager
def registry(folder: Path) -> Iterator[Registry]:
    with Registry(folder) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            yield served
        finally:
            served.shutdown()


def curl_seconds(served: Registry, layer: Path, folder: Path) -> float:
    """What fetching a file and checking it takes without us."""
    with layer.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    target = folder / "fetched"
    began = time.perf_counter()
    subprocess.run(["curl", "-s", "-o", target, f"http://{served.address}/blobs/sha256:{digest}"], check=True)
    subprocess.run(["sha256sum", target], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began
    target.unlink()
    return seconds


def pull(running: Daemon, name: str) -> tuple[float, float]:
    """Seconds that a pull takes, and by how many bytes the daemon grows at most meanwhile."""
    before = most = running.memory_bytes()
    connection = running.address.connect()
    began = time.perf_counter()
    connection.request("POST", "/api/pull", json.dumps({"model": name, "insecure": True}))
    answer = connection.getresponse()
    last = b""
    for last in answer:  # noqa: B007 - what was told last is looked at below
        most = max(most, running.memory_bytes())
    seconds = time.perf_counter() - began
    connection.close()
    if json.loads(last).get("status") != "success":
        raise RuntimeError(last.decode())
    return seconds, most - before


def measured(size_bytes: int) -> Iterator[tuple[str, str, str]]:
    with tempfile.TemporaryDirectory() as text, registry(Path(text)) as served:
        folder = Path(text)
        large = folder / "large"
        with large.open("wb") as file:
            for _ in range(size_bytes // 1_000_000):
                file.write(os.urandom(1_000_000))
        ours, growths = [], []
        for _ in range(_ROUNDS):
            with daemon() as running:
                seconds, growth = pull(running, served.add("large", large))
                ours.append(seconds)
                growths.append(growth)
        theirs = [curl_seconds(served, large, folder) for _ in range(_ROUNDS)]
        yield f"pull of {size_bytes / 1e9:.1f} GB", f"{min(ours):.2f} s", ""
        yield "curl, then sha256sum", f"{min(theirs):.2f} s", ""
        yield "speed of the one over the other", f"{min(theirs) / min(ours):.2f}", "≥ 0.95"
        yield "growth of the daemon", f"{max(growths) / 1e6:.0f} MB", "≤ 30 MB"
        layers = []
        for number in range(_SMALL_LAYERS):
            layers.append(folder / f"small{number}")
            layers[-1].write_bytes(os.urandom(_SMALL_BYTES))
        with daemon() as running:
            seconds, _ = pull(running, served.add("small", *layers))
        yield f"pull of {_SMALL_LAYERS} small layers", f"{seconds:.2f} s", ""


def main() -> None:
    size_bytes = int(sys.argv[1] if len(sys.argv) > 1 else 1000) * 1_000_000
    for name, value, goal in measured(size_bytes):
        print(f"{name:35} {value:>10} {goal}", flush=True)


if __name__ == "__main__":
    main()
