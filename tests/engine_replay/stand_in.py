"""The scripted engine where a daemon finds it, and what it tells."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

PROGRAM = Path(__file__).parents[1] / "scripted_engine" / "program.py"

Event = Mapping[str, Any]

_POLL_S = 0.005
_QUANTIZE = '#!/bin/sh\nfor f; do case "$f" in -*) ;; *) break ;; esac; shift; done\nexec cp "$1" "$2"\n'


class StandIn:
    """An engine in a folder, and the log of all its processes."""

    def __init__(self, folder: Path, events: socket.socket) -> None:
        self.library = folder / "lib"
        self._state = folder / "state"
        self._events = events
        self._log = self._state / "log.jsonl"
        self._looked_until = 0
        self._living: set[int] = set()

    @property
    def environment(self) -> dict[str, str]:
        """What a daemon's environment must hold to use it."""
        return {
            "ORCH_LLAMA_SERVER": str(self.library / "llama-server"),
            "SCRIPTED_ENGINE_DIR": str(self._state),
        }

    def script(self, script: Mapping[str, Any]) -> None:
        """Tell it what to do from now on; counting begins anew."""
        new = self._state / "script.new"
        new.write_text(json.dumps(script))
        (self._state / "counts.json").unlink(missing_ok=True)
        new.replace(self._state / "script.json")

    def now(self) -> int:
        """The present end of the log."""
        return self._log.stat().st_size

    def since(self, moment: int) -> list[Event]:
        """What happened after a moment, in order."""
        with self._log.open("rb") as log:
            log.seek(moment)
            lines = log.read().split(b"\n")[:-1]  # the last one is empty, or still being written
        return [json.loads(line) for line in lines]

    def wait(self, seconds: float) -> None:
        """Until something happens, or for that long."""
        self._events.settimeout(seconds)
        with suppress(TimeoutError):
            self._events.recv(1 << 16)
            self._events.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    self._events.recv(1 << 16)

    def heard(self, event: str, *, after: int = 0, within_s: float = 20.0, **members: Any) -> Event:
        """The first ``event`` with these members after a moment. Raises ``TimeoutError``."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            for line in self.since(after):
                if line["ev"] == event and members.items() <= line.items():
                    return line
            self.wait(0.5)
        raise TimeoutError(f"no {event} {members}: {[line['ev'] for line in self.since(after)]}")

    def processes(self) -> list[int]:
        """The living processes that serve a model."""
        moment, until = self._looked_until, self.now()
        if until > moment:
            self._living |= {event["pid"] for event in self.since(moment) if event["ev"] == "launch"}
            self._looked_until = until
        self._living = {pid for pid in self._living if _lives(pid)}
        return sorted(self._living)

    def kill(self) -> None:
        """End all processes as if memory had run out."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while self.processes():
            self.wait(_POLL_S)  # a process that is no child of ours tells nobody when it is gone


@contextmanager
def stand_in(folder: Path, devices: Sequence[Mapping[str, Any]] = ()) -> Iterator[StandIn]:
    """An engine in ``folder``, with these GPUs."""
    library, state = folder / "lib", folder / "state"
    library.mkdir()
    state.mkdir()
    program = PROGRAM.read_text().partition("\n")[2]
    _executable(library / "llama-server", f"#!{sys.executable} -SE\n{program}")
    _executable(library / "llama-quantize", _QUANTIZE)
    for variant in {device["variant"] for device in devices}:
        (library / variant).mkdir()
        (library / variant / "libggml-cuda.so").touch()
    if devices:
        (state / "devices.json").write_text(json.dumps(devices))
    (state / "log.jsonl").touch()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as events:
        events.bind(str(state / "events.sock"))
        yield StandIn(folder, events)


def _executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
