"""Engines that compute on the same cores take turns.

The threads of an engine meet after every operation of a model, and who comes early spins until the last is
there. Two busy engines whose threads together exceed the cores therefore do worse than wait for each other:
each spins away the time in which the other's last thread could come, and both fall to a small part of their
speed. So of those only as many compute as have cores for all of their threads; the others are paused, and
after a turn the next ones go on. A turn is far longer than an operation, and shorter than a reader notices.
Who has nothing to compute in its turn is left out of the round until that changes.

::

    cores     ├─ a ─┤├─ b ─┤├─ a ─┤├─ b ─┤├──── a ────     b has ended
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

logger = logging.getLogger(__name__)

W = TypeVar("W")

_LEAST_USE = 0.25
"""What part of its turn one thread of an engine computes at least, unless the engine is idle."""


class Worker(Protocol):
    """A process that can be held up in the midst of its work."""

    def pause(self) -> None:
        """Hold it up. One that has ended stays so."""

    def resume(self) -> None:
        """Let it go on."""

    def cpu_s(self) -> float:
        """The processor time that it has used, in seconds."""


@dataclass(slots=True, eq=False)
class _Seat:
    """A worker that has something to do."""

    threads: int
    calls: int = 0
    paused: bool = False
    is_idle: bool = False
    """It has hardly computed in its turn: it may wait for a client that reads slowly."""
    cpu_s: float = 0.0
    """The processor time it had used when its turn began."""


class Turns:
    """Who computes on the cores of this machine. Used on one event loop."""

    def __init__(self, cores: int, turn_s: float) -> None:
        """``turn_s`` is how long the others wait, in seconds."""
        self.cores = cores
        self._turn_s = turn_s
        self._seats: dict[Worker, _Seat] = {}
        """Those whose turn it is come first."""
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def working(self, worker: Worker, threads: int) -> Iterator[None]:
        """``worker`` has something to do for ``threads`` threads, perhaps not for the first time at once."""
        seat = self._seats.get(worker)
        if seat is None:
            seat = self._seats[worker] = _Seat(threads)
            self._arrange()
        seat.calls += 1
        try:
            yield
        finally:
            seat.calls -= 1
            if not seat.calls:
                del self._seats[worker]
                _set_paused(worker, seat, paused=False)
                self._arrange()

    def _arrange(self) -> None:
        """Let those work whose turn it is, and see to it that the turn passes on."""
        threads = {worker: seat.threads for worker, seat in self._seats.items()}
        at_work = fitting(threads, self.cores)
        contended = len(at_work) < len(threads)
        if contended:
            idle = {worker for worker, seat in self._seats.items() if seat.is_idle}
            at_work = idle | fitting(
                {each: threads[each] for each in threads if each not in idle}, self.cores
            )
        # first those who stop: never do more compute than have cores
        for worker in threads.keys() - at_work:
            _set_paused(worker, self._seats[worker], paused=True)
        for worker in at_work:
            _set_paused(worker, self._seats[worker], paused=False)
        self._pass_on(wanted=contended)

    def _pass_on(self, *, wanted: bool) -> None:
        """See to it that there is a timer when others wait, and none when nobody does."""
        if wanted and self._timer is None:
            logger.debug("engines take turns", extra={"engines": len(self._seats), "cores": self.cores})
            self._timer = asyncio.get_running_loop().call_later(self._turn_s, self._next_turn)
        elif not wanted and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _next_turn(self) -> None:
        self._timer = None
        for worker, seat in list(self._seats.items()):
            if not seat.paused:
                before, seat.cpu_s = seat.cpu_s, worker.cpu_s()
                seat.is_idle = seat.cpu_s - before < self._turn_s * _LEAST_USE
                self._seats[worker] = self._seats.pop(worker)
        self._arrange()


def fitting(threads: Mapping[W, int], cores: int) -> set[W]:
    """Those that may compute at once: in order, the first in any case, the others where cores are left.

    Engines of one thread each never wait for others of their threads, so the system shares the cores well.
    """
    if all(count == 1 for count in threads.values()):
        return set(threads)
    found: set[W] = set()
    taken = 0
    for worker, count in threads.items():
        if not found or taken + count <= cores:
            found.add(worker)
            taken += count
    return found


def _set_paused(worker: Worker, seat: _Seat, *, paused: bool) -> None:
    if seat.paused == paused:
        return
    seat.paused = paused
    if paused:
        worker.pause()
    else:
        seat.cpu_s = worker.cpu_s()
        worker.resume()
