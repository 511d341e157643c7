"""Client libraries in programs of their own: with their own packages, their own language, or both.

Such a program reads one call per line from its standard input, makes it, and writes what came of it:
``{"id": 1, "call": "chat", "arguments": {…}}`` → ``{"id": 1, "value": …}``, or with
``"error": {"kind", "message", "status"}``.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv/clients/bin/python"
NPM = ROOT / "integration/npm"

_NOWHERE = "http://127.0.0.1:9"
_QUIET = {
    # whoever wants to call home finds a closed door; what is on this machine is reached without it
    "HTTP_PROXY": _NOWHERE,
    "HTTPS_PROXY": _NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost",
    "PYTHONWARNINGS": "ignore",
    "PYTHONUNBUFFERED": "1",
}
_INHERITED = ("PATH", "LANG", "TMPDIR", "SYSTEMROOT")
_END_S = 10.0


class CallFailed(Exception):
    """A library raised something."""

    def __init__(self, kind: str, message: str, status: int | None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.status = kind, status


class Worker:
    """A program that holds one client library and calls it as it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._ids = itertools.count(1)

    def call(self, name: str, **arguments: Any) -> Any:
        """What that call gave. Raises ``CallFailed`` with what the library raised."""
        sender, receiver = self._process.stdin, self._process.stdout
        assert sender is not None
        assert receiver is not None
        number = next(self._ids)
        sender.write(json.dumps({"id": number, "call": name, "arguments": arguments}) + "\n")
        sender.flush()
        answer: dict[str, Any] = {}
        while answer.get("id") != number:  # a call that a test has given up may be answered late
            line = receiver.readline()
            assert line, "the client ended; its last words are in the captured output"
            answer = json.loads(line)
        if "error" in answer:
            raise CallFailed(**answer["error"])
        return answer["value"]


@contextmanager
def worker(argv: Sequence[str], home: Path, environment: Mapping[str, str] | None = None) -> Iterator[Worker]:
    """The program ``argv``, whose home is ``home``, until the end of the block."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    own = {"HOME": str(home), **(environment or {})}
    with subprocess.Popen(
        argv,
        cwd=ROOT,
        env=inherited | _QUIET | own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Worker(process)
        finally:
            assert process.stdin is not None
            with suppress(OSError):  # it may have ended by itself
                process.stdin.close()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def python_worker(module: str, home: Path, environment: Mapping[str, str] | None = None) -> Iterator[Worker]:
    """The module of that name in ``integration/clients``; skips if its packages are not installed."""
    if not PYTHON.exists():
        pytest.skip("the client libraries are not installed: make clients")
    with worker([str(PYTHON), "-m", f"integration.clients.{module}"], home, environment) as found:
        yield found


@contextmanager
def node_worker(module: str, home: Path, environment: Mapping[str, str] | None = None) -> Iterator[Worker]:
    """The module of that name in ``integration/npm``; skips if its packages are not installed."""
    if shutil.which("node") is None or not (NPM / "node_modules").exists():
        pytest.skip("the client libraries are not installed: make clients (needs Node.js and npm)")
    with worker(["node", str(NPM / f"{module}.mjs")], home, environment) as found:
        yield found
