"""Daemons for cases: those with equal surroundings share one, and the next one starts while it is in use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tests.engine_replay.cases import Case, Room
from tests.engine_replay.stand_in import stand_in
from tests.engine_replay.world import Store, World
from tests.http_replay.daemon import running_daemon


def surroundings(case: Case) -> str:
    """What a daemon has to be started with for a case: its environment and the machine's GPUs."""
    return json.dumps([case.get("env") or {}, case.get("devices") or []], sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A daemon with its engine, and what ends both."""

    surroundings: str
    room: Room
    stack: ExitStack


class Rooms:
    """A daemon at a time for ``cases``, which come sorted by their surroundings. To be closed."""

    def __init__(self, folder: Path, cases: Iterable[Case]) -> None:
        self._folder = folder
        self._world = World.read()
        self._numbers = count(1)
        self._ahead = list(dict.fromkeys(map(surroundings, cases)))
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="rooms")
        self._next: Future[_Opened] | None = None
        self._now: _Opened | None = None

    def room(self, case: Case) -> Room:
        """The daemon for a case."""
        wanted = surroundings(case)
        if self._now is None or self._now.surroundings != wanted:
            opened = self._take_next(wanted) or self._open(wanted)
            self._leave()
            self._now = opened
            self._start_the_one_after(wanted)
        return self._now.room

    def close(self) -> None:
        """End the daemons."""
        self._take_next("")
        self._leave()
        self._starter.shutdown()

    def _take_next(self, wanted: str) -> _Opened | None:
        """The daemon started ahead, if it is the wanted one."""
        started, self._next = self._next, None
        if started is None:
            return None
        opened = started.result()
        if opened.surroundings == wanted:
            return opened
        opened.stack.close()
        return None

    def _start_the_one_after(self, present: str) -> None:
        if present in self._ahead:
            following = self._ahead[self._ahead.index(present) + 1 :][:1]
            self._next = self._starter.submit(self._open, following[0]) if following else None

    def _leave(self) -> None:
        if self._now is not None:
            self._now.stack.close()
            self._now = None

    def _open(self, wanted: str) -> _Opened:
        env: Mapping[str, str]
        devices: list[dict[str, Any]]
        env, devices = json.loads(wanted)
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        with ExitStack() as stack:
            engine = stack.enter_context(stand_in(folder, devices))
            given = {name: value.replace("$LIB", str(engine.library)) for name, value in env.items()}
            server = stack.enter_context(running_daemon(folder, engine.environment | given))
            room = Room(Store(self._world, server, folder / "models"), server, engine, given)
            return _Opened(wanted, room, stack.pop_all())
