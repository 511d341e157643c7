"""The other end of the scripted engine: gives it scripts, hears what it does."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.runners.engines import EngineInfo, EngineKind, Transport

PROGRAM = Path(__file__).parent / "program.py"


class ScriptedEngine:
    """An engine under the control of a test. ``folder`` is empty and stays as long as the engine runs."""

    def __init__(self, folder: Path, events: socket.socket) -> None:
        self.folder = folder
        self._events = events

    def info(self, transport: Transport = Transport.UNIX) -> EngineInfo:
        """How it is started."""
        return EngineInfo(
            kind=EngineKind.NATIVE,
            # -S: no packages are needed, and without them it starts sooner
            argv_prefix=(sys.executable, "-SE", str(PROGRAM)),
            library_dir=PROGRAM.parent,
            transport=transport,
        )

    @property
    def environ(self) -> Mapping[str, str]:
        """What its environment must hold."""
        return {"SCRIPTED_ENGINE_DIR": str(self.folder)}

    def script(self, **members: Any) -> None:
        """Tell it what to do from now on; counting begins anew."""
        (self.folder / "script.json").write_text(json.dumps(members))
        (self.folder / "counts.json").unlink(missing_ok=True)

    async def heard(self, event: str, **members: Any) -> dict[str, Any]:
        """The next line of its log that is an ``event`` with these members."""
        loop = asyncio.get_running_loop()
        while True:
            line = json.loads(await loop.sock_recv(self._events, 1 << 16))
            if line["ev"] == event and members.items() <= line.items():
                return dict(line)

    def log(self, event: str) -> list[dict[str, Any]]:
        """Everything of one kind that happened so far."""
        file = self.folder / "log.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in map(json.loads, lines) if line["ev"] == event]

    def requests(self, path: str) -> list[Any]:
        """The bodies that came to ``path``."""
        return [json.loads(line["body"]) for line in self.log("request") if line["path"] == path]


@contextmanager
def scripted_engine(folder: Path) -> Iterator[ScriptedEngine]:
    """An engine whose folder is ``folder``."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as events:
        events.bind(str(folder / "events.sock"))
        events.setblocking(False)
        yield ScriptedEngine(folder, events)
