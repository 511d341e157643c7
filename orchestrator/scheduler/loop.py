"""The scheduler at work: owns the world and the runners, performs what ``decide`` wants, hands out leases.

Everything happens on one event loop. ``_happen`` is the only place where the world changes; it never awaits,
so a decision is never taken from a state that has moved on. What takes time runs as a task of the scheduler's
group and reports back with an event.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from orchestrator.domain.durations import SECOND_NS, KeepAlive
from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import EngineRefused, OrchestratorError, RunnerFailed, ShuttingDown
from orchestrator.process.cleanup import to_the_end
from orchestrator.runners.base import Engine, LoadOrder, RunnerProcess
from orchestrator.runners.out_of_memory import says_out_of_memory
from orchestrator.scheduler.decide import decide
from orchestrator.scheduler.effects import (
    CancelLoad,
    CheckHealth,
    Effect,
    Fail,
    Grant,
    Measure,
    StartLoad,
    Stop,
)
from orchestrator.scheduler.events import (
    Asked,
    ClosedDown,
    Dropped,
    Event,
    Exited,
    HealthChecked,
    Loaded,
    LoadFailed,
    Measured,
    Released,
    Stopped,
    Ticked,
    UnloadAsked,
)
from orchestrator.scheduler.lease import Lease
from orchestrator.scheduler.observer import NobodyListens, SchedulerObserver
from orchestrator.scheduler.probe import MemoryProbe
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.scheduler.snapshot import runner_view
from orchestrator.scheduler.views import QueueView, RunnerView
from orchestrator.scheduler.world import Ready, Request, RunnerRecord, World, next_deadline

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Granted:
    """A lease as ``decide`` gave it."""

    key: str
    serial: int


class Scheduler:
    """Lends runners to requests. ``run`` must be running, in the daemon's task group."""

    def __init__(
        self,
        engine: Engine,
        settings: SchedulerSettings,
        probe: MemoryProbe,
        observer: SchedulerObserver | None = None,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._probe = probe
        self._observer: SchedulerObserver = observer or NobodyListens()
        self._world = World(settings=settings)
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._grants: dict[int, _Granted] = {}
        self._processes: dict[int, RunnerProcess] = {}
        self._starts: dict[int, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: int | None = None

    @property
    def parallel(self) -> int:
        """How many requests a model answers at the same time, where its family allows more than one."""
        return self._settings.parallel

    # life

    async def run(self, *, started: asyncio.Event | None = None) -> None:
        """Own the runners until cancelled. On leaving, every waiter was told and every process reaped."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                if started is not None:
                    started.set()
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    self._happen(ClosedDown(_now()))
        finally:
            self._group = None
            await to_the_end(self._stop_all())

    async def _stop_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for process in self._processes.values():
                group.create_task(process.stop())
        self._processes.clear()

    # for requests

    @asynccontextmanager
    async def lease(self, spec: LoadSpec, keep_alive: KeepAlive | None = None) -> AsyncIterator[Lease]:
        """Wait for a runner that serves ``spec`` and hold it while the block runs.

        Raises ``QueueFull`` at once when too many wait, ``RunnerFailed`` when the model cannot be loaded, and
        ``ShuttingDown`` when the daemon stops. May be cancelled at any point.
        """
        asked_at = _now()
        granted = await self._granted(spec, keep_alive, asked_at)
        lease = self._lease_of(granted, asked_at)
        try:
            yield lease
        except OrchestratorError as error:
            lease.error = error
            raise
        finally:
            self._happen(
                Released(
                    _now(),
                    granted.key,
                    granted.serial,
                    suspect=isinstance(lease.error, RunnerFailed),
                    out_of_memory=lease.error is not None and _is_out_of_memory(lease.error),
                )
            )

    async def _granted(self, spec: LoadSpec, keep_alive: KeepAlive | None, asked_at: int) -> _Granted:
        if self._group is None:
            raise ShuttingDown
        request = Request(
            id=next(self._ids),
            spec=spec,
            asked_at=asked_at,
            keep_alive_ns=None if keep_alive is None else self._settings.bounded(keep_alive),
        )
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = woken
        try:
            self._notice_death(request.key)
            self._happen(Asked(asked_at, request))
            await woken
        except asyncio.CancelledError:
            self._withdraw(request.id, woken)
            raise
        finally:
            del self._waiting[request.id]
        return self._grants.pop(request.id)

    def _notice_death(self, key: str) -> None:
        """A process that died a moment ago is not lent once more, though the task that watches it sleeps."""
        runner = self._world.runners.get(key)
        process = None if runner is None else self._processes.get(runner.serial)
        if runner is not None and process is not None and process.has_ended:
            self._happen(Exited(_now(), key, runner.serial))

    def _withdraw(self, request_id: int, woken: asyncio.Future[None]) -> None:
        """The client has gone away, perhaps in the very moment in which its request was granted or failed."""
        granted = self._grants.pop(request_id, None)
        if granted is not None:
            self._happen(Released(_now(), granted.key, granted.serial))
        elif woken.cancelled():
            self._happen(Dropped(_now(), request_id))
        else:
            woken.exception()  # it was told why it gets nothing, and no longer cares

    def _lease_of(self, granted: _Granted, asked_at: int) -> Lease:
        process = self._processes[granted.serial]
        now = _now()
        record = self._world.runners.get(granted.key)
        waited_for_load = isinstance(record, Ready) and record.ready_at >= asked_at
        self._observer.waited((now - asked_at) / SECOND_NS)
        return Lease(
            runner=process,
            spec=process.spec,
            waited_ns=now - asked_at,
            load_ns=record.load_ns if isinstance(record, Ready) and waited_for_load else 0,
        )

    def unload(self, key: str) -> bool:
        """Let a model go: now if it is idle, else when its requests are done. Whether it was loaded.

        Does not wait for the process to end. The operator's floor for keep-alive does not hold here.
        """
        known = key in self._world.runners
        self._happen(UnloadAsked(_now(), key))
        return known

    # what there is

    def loaded(self) -> tuple[RunnerView, ...]:
        """All runners, those on their way in and out included."""
        waiting = Counter(request.key for request in self._world.queue)
        return tuple(
            runner_view(
                runner,
                pid=self._pid(runner),
                waiting=waiting[key],
                now=_now(),
                epoch_ns=time.time_ns() - _now(),
            )
            for key, runner in self._world.runners.items()
        )

    def _pid(self, runner: RunnerRecord) -> int | None:
        process = self._processes.get(runner.serial)
        return None if process is None else process.pid

    def queue(self) -> QueueView:
        """Who waits."""
        requests = self._world.queue
        return QueueView(
            length=len(requests),
            by_model=Counter(request.spec.files.name for request in requests),
            oldest_ns=_now() - requests[0].asked_at if requests else 0,
        )

    # events and effects

    def _happen(self, event: Event) -> None:
        """Let ``decide`` have a look at ``event``, and see to what it wants."""
        self._world, effects = decide(self._world, event)
        for effect in effects:
            self._perform(effect)
        self._set_timer(None if self._world.closed else next_deadline(self._world, event.now))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Grant(request_id, key, serial):
                self._grants[request_id] = _Granted(key, serial)
                self._wake(request_id)
            case Fail(request_id, error):
                self._wake(request_id, error)
            case Measure(paths):
                self._spawn(self._measure(paths))
            case StartLoad(key, serial):
                logger.info("loading model", extra={"model": effect.order.spec.files.name, "serial": serial})
                self._starts[serial] = self._spawn(self._start(effect))
                self._starts[serial].add_done_callback(lambda _: self._start_over(key, serial))
            case CancelLoad(key, serial):
                logger.info("giving up a load that nobody waits for", extra={"key": key, "serial": serial})
                self._starts[serial].cancel()
            case CheckHealth(key, serial):
                self._spawn(self._check_health(effect, self._processes[serial]))
            case Stop(key, serial, reason):
                logger.info("runner leaves", extra={"key": key, "serial": serial, "reason": reason.value})
                self._observer.runner_left(reason)
                self._spawn(self._stop(effect, self._processes[serial]))

    def _wake(self, request_id: int, error: OrchestratorError | None = None) -> None:
        woken = self._waiting[request_id]
        if woken.done():
            return  # cancelled a moment ago; it finds out by itself what it has to give back
        if error is None:
            woken.set_result(None)
        else:
            woken.set_exception(error)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        assert self._group is not None
        return self._group.create_task(work)

    async def _measure(self, paths: tuple[Path, ...]) -> None:
        self._happen(await asyncio.to_thread(self._figures, paths))

    def _figures(self, paths: tuple[Path, ...]) -> Measured:
        system, devices = self._probe.system(), self._probe.devices()
        return Measured(_now(), system, devices, {path: _size(path) for path in paths})

    async def _start(self, effect: StartLoad) -> None:
        """Start a process and watch it to its end."""
        key, serial, since = effect.key, effect.serial, _now()
        try:
            process = await self._loaded(effect.order)
        except OrchestratorError as error:
            del self._starts[serial]
            seconds = (_now() - since) / SECOND_NS
            logger.warning("loading failed", extra={"key": key, "error": str(error), "seconds": seconds})
            self._observer.load_ended(seconds, succeeded=False)
            self._happen(LoadFailed(_now(), key, serial, error, out_of_memory=_is_out_of_memory(error)))
            return
        del self._starts[serial]
        seconds = (_now() - since) / SECOND_NS
        logger.info("model ready", extra={"key": key, "pid": process.pid, "seconds": seconds})
        self._observer.load_ended(seconds, succeeded=True)
        self._processes[serial] = process
        self._happen(Loaded(_now(), key, serial, process.spec, process.mmap_auto, process.memory))
        last_words = await process.exited()
        if isinstance(self._world.runners.get(key), Ready):
            logger.warning("runner ended by itself", extra={"key": key, "last_words": last_words})
        self._happen(Exited(_now(), key, serial))

    async def _loaded(self, order: LoadOrder) -> RunnerProcess:
        """The process of a new runner. Raises ``OrchestratorError`` and nothing else."""
        try:
            return await self._engine.load(order)
        except OrchestratorError:
            raise
        except Exception as error:
            logger.exception("loading failed by a fault of ours", extra={"model": order.spec.files.name})
            raise RunnerFailed(f"the model could not be loaded: {error!r}") from error

    def _start_over(self, key: str, serial: int) -> None:
        """A start has come to its end; one that has not said how was given up, perhaps before it began."""
        if self._starts.pop(serial, None) is not None:
            self._happen(Stopped(_now(), key, serial))

    async def _check_health(self, effect: CheckHealth, process: RunnerProcess) -> None:
        healthy = await process.is_healthy()
        self._happen(HealthChecked(_now(), effect.key, effect.serial, healthy))

    async def _stop(self, effect: Stop, process: RunnerProcess) -> None:
        await process.stop()
        del self._processes[effect.serial]
        self._happen(Stopped(_now(), effect.key, effect.serial))

    def _set_timer(self, deadline: int | None) -> None:
        if deadline == self._deadline:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._deadline, self._timer = deadline, None
        if deadline is not None:
            delay = max(deadline - _now(), 0) / SECOND_NS
            self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._deadline = self._timer = None
        self._happen(Ticked(_now()))


def _now() -> int:
    return time.monotonic_ns()


def _size(path: Path) -> int:
    """Bytes of a file; 0 when it is not there, which the load itself will report."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_out_of_memory(error: OrchestratorError) -> bool:
    """Whether the engine, or its start, failed for want of memory."""
    match error:
        case RunnerFailed():
            return error.out_of_memory
        case EngineRefused(status=status):
            return status >= HTTPStatus.INTERNAL_SERVER_ERROR and says_out_of_memory(str(error))
        case _:
            return False
