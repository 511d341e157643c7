"""One decision in the making: a working copy of the world, and the effects gathered so far."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.errors import OrchestratorError
from orchestrator.runners.base import LoadOrder
from orchestrator.scheduler.admission import extra_files
from orchestrator.scheduler.effects import (
    CancelLoad,
    CheckHealth,
    Effect,
    Fail,
    Grant,
    Measure,
    Reason,
    StartLoad,
    Stop,
)
from orchestrator.scheduler.world import (
    Failure,
    Loading,
    Ready,
    Request,
    Rival,
    RunnerRecord,
    Stopping,
    World,
)


class Step:
    """The moves that a decision is made of. Each changes the copy and notes what has to be done for it."""

    def __init__(self, world: World, now: int) -> None:
        self.now = now
        self.settings = world.settings
        self.queue = list(world.queue)
        self.runners = dict(world.runners)
        self.failures = dict(world.failures)
        self.gpus = world.gpus
        self.most_bytes = world.most_bytes
        self.measuring = world.measuring
        self.departures = list(world.departures)
        self.measure_at = world.measure_at
        self.closed = world.closed
        self._serial = world.serial
        self._effects: list[Effect] = []
        self._wanted_by: dict[str, int] = {}
        """Busy runners that have to leave, and the first request that needs it."""

    def finish(self) -> tuple[World, tuple[Effect, ...]]:
        """The next world and the effects wanted."""
        world = World(
            settings=self.settings,
            queue=tuple(self.queue),
            runners=self.runners,
            failures=self.failures,
            gpus=self.gpus,
            most_bytes=self.most_bytes,
            measuring=self.measuring,
            departures=tuple(self.departures),
            measure_at=self.measure_at,
            serial=self._serial,
            closed=self.closed,
        )
        return world, tuple(self._effects)

    # what is there

    def runner(self, key: str, serial: int) -> RunnerRecord | None:
        """The runner of this very start; ``None`` if it is gone."""
        runner = self.runners.get(key)
        return runner if runner is not None and runner.serial == serial else None

    def ready(self) -> list[Ready]:
        """Runners that serve."""
        return [runner for runner in self.runners.values() if isinstance(runner, Ready)]

    @property
    def loading(self) -> Loading | None:
        """The runner that is starting."""
        return next((runner for runner in self.runners.values() if isinstance(runner, Loading)), None)

    @property
    def somebody_leaves(self) -> bool:
        """A process is ending, so there will be more room soon."""
        return any(isinstance(runner, Stopping) for runner in self.runners.values())

    def sharers(self, loading: Loading) -> list[Request]:
        """Who waits for a start."""
        return [request for request in self.queue if loading.will_suit(request)]

    # requests

    def lend(self, runner: Ready, request: Request) -> None:
        """Give ``request`` a lease. The caller takes it off the queue."""
        keep_alive = runner.keep_alive_ns if request.keep_alive_ns is None else request.keep_alive_ns
        self.runners[runner.key] = replace(
            runner, leases=runner.leases + 1, keep_alive_ns=keep_alive, last_used=self.now
        )
        self._effects.append(Grant(request.id, runner.key, runner.serial))

    def fail(self, request: Request, error: OrchestratorError) -> None:
        """Send ``request`` away, whether or not it was in the queue."""
        self.queue = [waiting for waiting in self.queue if waiting.id != request.id]
        self._effects.append(Fail(request.id, error))

    # runners

    def measure(self, request: Request) -> None:
        """Have the figures taken that are needed to load for ``request``, unless they are on their way."""
        if not self.measuring:
            self.measuring = True
            self._effects.append(Measure(extra_files(request.spec)))

    def start(self, request: Request, order: LoadOrder) -> None:
        """Load for ``request``."""
        self._serial += 1
        keep_alive = request.keep_alive_ns
        if keep_alive is None:
            keep_alive = self.settings.bounded(self.settings.keep_alive)
        self.runners[request.key] = Loading(
            key=request.key, serial=self._serial, order=order, since=self.now, keep_alive_ns=keep_alive
        )
        self._effects.append(StartLoad(request.key, self._serial, order))

    def abandon(self, loading: Loading) -> None:
        """Give up a start."""
        self.runners[loading.key] = Stopping(
            key=loading.key, serial=loading.serial, spec=loading.order.spec, reason=Reason.ABANDONED
        )
        self._effects.append(CancelLoad(loading.key, loading.serial))

    def check(self, runner: Ready) -> None:
        """Have the health of an idle runner checked before it is lent."""
        self.runners[runner.key] = replace(runner, checking=True)
        self._effects.append(CheckHealth(runner.key, runner.serial))

    def stop(self, runner: Ready, reason: Reason) -> None:
        """End a runner that nobody uses."""
        stopping = Stopping(
            key=runner.key,
            serial=runner.serial,
            spec=runner.spec,
            reason=reason,
            memory=runner.memory,
            devices=runner.order.devices,
        )
        self.runners[runner.key] = stopping
        self.end(stopping)

    def end(self, stopping: Stopping) -> None:
        """Have the process of a runner ended."""
        self._effects.append(Stop(stopping.key, stopping.serial, stopping.reason))

    def vacate(self, runner: Ready, request: Request, reason: Reason) -> None:
        """Make ``runner`` leave for ``request``: at once if it is idle, else when its requests are done."""
        if runner.is_idle:
            self.stop(runner, reason)
        else:
            self._wanted_by.setdefault(runner.key, request.id)

    def settle_rivals(self) -> bool:
        """Set down for which request each busy runner has to leave; whether some may serve more than before.

        Every decision finds this out anew, first come first, so a rival that has gone away holds up nobody.
        When somebody began to wait for a place stays known as long as anybody does.
        """
        relaxed = False
        for runner in self.ready():
            old, new_id = runner.rival, self._wanted_by.get(runner.key)
            new = None if new_id is None else Rival(new_id, self.now if old is None else old.since)
            if new != old:
                self.runners[runner.key] = replace(runner, rival=new)
                relaxed |= old is not None and (new is None or new.request_id > old.request_id)
        return relaxed

    def note_failure(self, key: str) -> None:
        """Remember that a start failed; the next may be tried the later, the more failed in a row."""
        count = self.failures[key].count if key in self.failures else 0
        self.failures[key] = Failure(count + 1, self.now)
