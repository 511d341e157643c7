"""A machine that exists only in numbers: it performs the effects of ``decide`` on a clock of its own.

Every step checks what has to hold always (see ``_check``), so a test only says what happens and looks at what
came of it.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.durations import SECOND_NS
from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import OrchestratorError, RunnerFailed
from orchestrator.runners.base import MemoryUse
from orchestrator.scheduler.decide import decide
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
from orchestrator.scheduler.events import (
    Asked,
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
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.scheduler.world import Loading, Ready, Request, World, next_deadline

PLENTY = SystemMemory(total_bytes=2**40, free_bytes=2**40)


@dataclass
class Call:
    """One simulated client."""

    spec: LoadSpec
    asked_at: float
    work_s: float
    request_id: int = 0
    """Given when the call arrives."""
    granted_at: float | None = None
    ended_at: float | None = None
    error: OrchestratorError | None = None
    dropped: bool = False

    @property
    def waited_s(self) -> float:
        """From asking to being granted."""
        assert self.granted_at is not None
        return self.granted_at - self.asked_at

    @property
    def is_over(self) -> bool:
        """It was served, refused, or its client left."""
        return self.ended_at is not None or self.error is not None or self.dropped


@dataclass
class Process:
    """One simulated engine process."""

    spec: LoadSpec
    slots: int
    holders: set[int] = field(default_factory=set)
    working: int = 0
    waiting: deque[int] = field(default_factory=deque)


LoadResult = RunnerFailed | None


class Simulation:
    """Clients, processes and a clock around one world."""

    def __init__(
        self,
        settings: SchedulerSettings | None = None,
        *,
        load_s: float = 3.0,
        stop_s: float = 0.1,
        system: SystemMemory | None = PLENTY,
        devices: tuple[Device, ...] = (),
        on_load: Callable[[StartLoad], LoadResult] = lambda start: None,
        memory_of: Callable[[StartLoad], MemoryUse] = lambda start: MemoryUse(),
    ) -> None:
        self.world = World(settings=settings or SchedulerSettings())
        self.now = 0.0
        self.last_event = 0
        self.calls: list[Call] = []
        self._arrived: dict[int, Call] = {}
        self.starts: list[StartLoad] = []
        self.stops: list[tuple[str, Reason]] = []
        self.cancelled_loads: list[str] = []
        self.processes: dict[int, Process] = {}
        self.healthy = True
        self.system, self.devices = system, devices
        self._load_s, self._stop_s = load_s, stop_s
        self._on_load, self._memory_of = on_load, memory_of
        self._ids = itertools.count(1)
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    # what clients do

    def ask(
        self,
        spec: LoadSpec,
        *,
        at: float | None = None,
        work: float = 0.5,
        keep_alive: float | None = None,
        leave_after: float | None = None,
    ) -> Call:
        """A client asks at a time, works for so long, and perhaps leaves early."""
        at = self.now if at is None else at
        keep_alive_ns = None if keep_alive is None else int(keep_alive * SECOND_NS)
        call = Call(spec, at, work)
        self.calls.append(call)

        def arrive() -> None:
            call.request_id = next(self._ids)
            self._arrived[call.request_id] = call
            self.happen(Asked(self.ns, Request(call.request_id, spec, self.ns, keep_alive_ns)))

        self.at(at, arrive)
        if leave_after is not None:
            self.at(at + leave_after, lambda: self._leave(call))
        return call

    def unload(self, spec: LoadSpec, *, at: float) -> None:
        """A client wants the model out of memory."""
        self.at(at, lambda: self.happen(UnloadAsked(self.ns, spec.files.key)))

    def crash(self, spec: LoadSpec, *, at: float) -> None:
        """The process of a ready runner dies."""

        def die() -> None:
            runner = self.world.runners[spec.files.key]
            self.processes.pop(runner.serial)
            self.happen(Exited(self.ns, runner.key, runner.serial))

        self.at(at, die)

    def _leave(self, call: Call) -> None:
        if call.is_over:
            return
        call.dropped = True
        if call.granted_at is None:
            self.happen(Dropped(self.ns, call.request_id))
        else:
            self._release(call)

    # the clock

    @property
    def ns(self) -> int:
        """Now."""
        return round(self.now * SECOND_NS)

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Put something on the agenda."""
        heapq.heappush(self._agenda, (when, next(self._order), action))

    def run(self, until: float = float("inf"), *, limit: int = 100_000) -> None:
        """Let time pass until nothing but keep-alive timers is left, or until a moment."""
        for _ in range(limit):
            deadline = next_deadline(self.world, self.last_event)
            tick = float("inf") if deadline is None else max(deadline / SECOND_NS, self.now)
            task = self._agenda[0][0] if self._agenda else float("inf")
            idle = not self._agenda and not self.world.queue
            if min(task, tick) > until or (idle and until == float("inf")):
                break
            if tick <= task:
                self.now = tick
                self.happen(Ticked(max(self.ns, deadline or 0)))
            else:
                when, _, action = heapq.heappop(self._agenda)
                self.now = max(when, self.now)
                action()
        else:
            raise AssertionError("the simulation does not come to rest")
        if until != float("inf"):
            self.now = max(self.now, until)

    # what the scheduler wants

    def happen(self, event: Event) -> None:
        """Show an event to ``decide`` and perform what it wants."""
        self.world, effects = decide(self.world, event)
        self.last_event = event.now
        for effect in effects:
            self._perform(effect)
        self._check()

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Measure():
                self.at(self.now, lambda: self.happen(Measured(self.ns, self.system, self.devices)))
            case StartLoad():
                self.starts.append(effect)
                self.processes[effect.serial] = Process(effect.order.spec, effect.order.parallel)
                self.at(self.now + self._load_s, lambda: self._load_ends(effect))
            case CancelLoad(key, serial):
                wanted = self.processes[serial].spec
                assert not any(request.spec == wanted for request in self.world.queue), (
                    "a wanted load given up"
                )
                self.cancelled_loads.append(key)
                self._end(key, serial)
            case Stop(key, serial, reason):
                self.stops.append((key, reason))
                if reason is not Reason.CRASHED:
                    assert not self.processes[serial].holders, "work was killed"
                    self._end(key, serial)
            case CheckHealth(key, serial):
                self.at(self.now, lambda: self.happen(HealthChecked(self.ns, key, serial, self.healthy)))
            case Grant(request_id, _, serial):
                self._granted(self._arrived[request_id], serial)
            case Fail(request_id, error):
                call = self._arrived[request_id]
                assert call.granted_at is None
                assert not call.is_over
                call.error = error

    def _load_ends(self, start: StartLoad) -> None:
        runner = self.world.runners.get(start.key)
        if not isinstance(runner, Loading) or runner.serial != start.serial:
            return
        error = self._on_load(start)
        if error is not None:
            del self.processes[start.serial]
            self.happen(
                LoadFailed(self.ns, start.key, start.serial, error, out_of_memory=error.out_of_memory)
            )
            return
        on_cpu = not start.order.devices
        spec = start.order.spec
        derive_mmap = on_cpu and spec.options.use_mmap is None
        if derive_mmap:
            spec = replace(spec, options=replace(spec.options, use_mmap=False))
        if spec.batch_auto:
            context = spec.options.num_ctx * start.order.parallel
            batch = 2048 if context > 32768 else 1024 if context > 4096 else 512
            spec = replace(spec, options=replace(spec.options, num_batch=batch))
        self.happen(
            Loaded(
                self.ns, start.key, start.serial, spec, mmap_auto=derive_mmap, memory=self._memory_of(start)
            )
        )

    def _end(self, key: str, serial: int) -> None:
        def ended() -> None:
            self.processes.pop(serial, None)
            self.happen(Stopped(self.ns, key, serial))

        self.at(self.now + self._stop_s, ended)

    def _granted(self, call: Call, serial: int) -> None:
        assert call.granted_at is None, "granted twice"
        call.granted_at = self.now
        process = self.processes[serial]
        process.holders.add(call.request_id)
        process.waiting.append(call.request_id)
        self._work(serial)

    def _work(self, serial: int) -> None:
        process = self.processes[serial]
        while process.waiting and process.working < process.slots:
            call = self._arrived[process.waiting.popleft()]
            if not call.is_over:
                process.working += 1
                self.at(self.now + call.work_s, lambda call=call: self._worked(call, serial))  # type: ignore[misc]

    def _worked(self, call: Call, serial: int) -> None:
        if serial in self.processes:
            self.processes[serial].working -= 1
            self._work(serial)
        if not call.is_over:
            self._release(call)

    def _release(self, call: Call) -> None:
        call.ended_at = self.now
        for serial, process in self.processes.items():
            if call.request_id in process.holders:
                process.holders.remove(call.request_id)
                self.happen(Released(self.ns, call.spec.files.key, serial))
                return

    # what always holds

    def _check(self) -> None:
        world = self.world
        if world.gpus is not None:
            assert len(world.runners) <= world.settings.limit(world.gpus), "too many models"
        assert sum(isinstance(runner, Loading) for runner in world.runners.values()) <= 1
        waiting = {request.id for request in world.queue}
        assert len(waiting) == len(world.queue)
        for runner in world.runners.values():
            if isinstance(runner, Ready):
                holders = self.processes[runner.serial].holders
                assert runner.leases == len(holders)
                assert not holders & waiting

    # what came of it

    @property
    def loaded(self) -> list[str]:
        """Names of the models that are ready."""
        return sorted(r.spec.files.name for r in self.world.runners.values() if isinstance(r, Ready))

    @property
    def started(self) -> list[str]:
        """Names of the models in the order of their starts."""
        return [start.order.spec.files.name for start in self.starts]
