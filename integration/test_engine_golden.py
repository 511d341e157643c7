"""Recorded requests over a scripted engine: what a real daemon asks of it, and what its clients get."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.engine_replay.cases import Case, Room
from tests.engine_replay.stand_in import stand_in
from tests.engine_replay.world import Store, World
from tests.golden_records import Record, records
from tests.http_replay.daemon import running_daemon

FILES = ("launch", "requests", "failures", "sequences")

WAITING: dict[str, str] = {}
"""Patterns of cases that need what is not there yet → what that is. Emptied as it comes."""

DIFFERENT: dict[str, str] = {}
"""Cases in which we differ on purpose → why. Each of them must differ. See docs/differences.md."""


class Rooms:
    """One daemon at a time: cases with equal surroundings follow each other and share it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._world = World.read()
        self._stack = ExitStack()
        self._count = 0
        self._surroundings: object = None
        self._room: Room | None = None

    def room(self, case: Case) -> Room:
        """The daemon for a case."""
        if self._room is None or _surroundings(case) != self._surroundings:
            self.close()
            self._surroundings = _surroundings(case)
            self._room = self._open(case.get("env") or {}, case.get("devices") or ())
        return self._room

    def close(self) -> None:
        """End the daemon."""
        self._stack.close()
        self._room = None

    def _open(self, env: Mapping[str, str], devices: Sequence[Mapping[str, Any]]) -> Room:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        engine = self._stack.enter_context(stand_in(folder, devices))
        given = {name: value.replace("$LIB", str(engine.library)) for name, value in env.items()}
        server = self._stack.enter_context(running_daemon(folder, engine.environment | given))
        return Room(Store(self._world, server, folder / "models"), server, engine, given)


def _surroundings(case: Case) -> str:
    return json.dumps([case.get("devices") or [], case.get("env") or {}], sort_keys=True)


def _parameters() -> Iterator[object]:
    everything = [record for name in FILES for record in records(f"engine/{name}.jsonl")]
    for record in sorted(everything, key=_surroundings):
        yield pytest.param(record, id=record["id"], marks=_marks(record))


def _marks(record: Record) -> list[pytest.MarkDecorator]:
    if "devices" in record:
        return [pytest.mark.skip(reason="waits for GPU placement")]
    for pattern, reason in WAITING.items():
        if re.fullmatch(pattern, record["id"]):
            return [pytest.mark.skip(reason=f"waits for {reason}")]
    if reason := DIFFERENT.get(record["id"], ""):
        return [pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)]
    return []


@pytest.fixture(scope="session")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    """Daemons over scripted engines."""
    rooms = Rooms(tmp_path_factory.mktemp("engine"))
    yield rooms
    rooms.close()


@pytest.mark.parametrize("case", list(_parameters()))
def test_engine_and_client_see_what_is_recorded(case: Record, rooms: Rooms) -> None:
    wrong = rooms.room(case).run(case)
    assert not wrong, "\n".join(wrong)
