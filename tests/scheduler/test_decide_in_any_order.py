"""``decide`` under events in any order, with whatever outcome a machine may have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.durations import SECOND_NS
from orchestrator.errors import RunnerFailed
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
from tests.scheduler.specs import GIB, a_spec

MODELS = ("red", "blue", "green")
WINDOWS = (None, 2048, 8192)
GPU = Device(library="CUDA", id="0", name="CUDA0", total_bytes=24 * GIB, free_bytes=23 * GIB)


@dataclass
class Machine:
    """What the effects have brought about so far."""

    measuring: bool = False
    starting: dict[int, StartLoad] = field(default_factory=dict)
    ready: dict[int, str] = field(default_factory=dict)
    ending: dict[int, str] = field(default_factory=dict)
    checking: dict[int, str] = field(default_factory=dict)
    leases: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Request → (key, serial)."""
    waiting: dict[int, Request] = field(default_factory=dict)


class AnyOrder(RuleBasedStateMachine):
    """Every event that is possible at a moment may come next."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(settings=SchedulerSettings(max_loaded=2, max_queue=6))
        self.machine = Machine()
        self.now = 0
        self.next_id = 1

    # what may happen

    @rule(
        model=st.sampled_from(MODELS),
        num_ctx=st.sampled_from(WINDOWS),
        gib=st.sampled_from((1, 1, 1, 12)),
        keep_alive_s=st.sampled_from((None, None, 0, 5)),
    )
    def ask(self, model: str, num_ctx: int | None, gib: int, keep_alive_s: int | None) -> None:
        keep_alive = None if keep_alive_s is None else keep_alive_s * SECOND_NS
        spec = a_spec(model, num_ctx=num_ctx, size_bytes=gib * GIB)
        request = Request(self.next_id, spec, self.now, keep_alive)
        self.next_id += 1
        self.machine.waiting[request.id] = request
        self.happen(Asked(self.now, request))

    @precondition(lambda self: self.machine.waiting)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.machine.waiting)))
        del self.machine.waiting[request_id]
        self.happen(Dropped(self.now, request_id))

    @precondition(lambda self: self.machine.leases)
    @rule(data=st.data(), suspect=st.booleans(), out_of_memory=st.sampled_from((False, False, False, True)))
    def release(self, data: st.DataObject, suspect: bool, out_of_memory: bool) -> None:
        self._release(data.draw(st.sampled_from(sorted(self.machine.leases))), suspect, out_of_memory)

    @precondition(lambda self: self.machine.measuring)
    @rule(free_gib=st.integers(0, 16), gpu=st.booleans())
    def measured(self, free_gib: int, gpu: bool) -> None:
        self.machine.measuring = False
        system = SystemMemory(total_bytes=16 * GIB, free_bytes=free_gib * GIB)
        self.happen(Measured(self.now, system, (GPU,) if gpu else ()))

    @precondition(lambda self: self.machine.starting)
    @rule(outcome=st.sampled_from(("ready", "ready", "ready", "failed", "out of memory")))
    def start_ends(self, outcome: str) -> None:
        serial, start = self.machine.starting.popitem()
        if outcome == "ready":
            self._ready(start)
        else:
            error = RunnerFailed(outcome, out_of_memory=outcome == "out of memory")
            self.happen(LoadFailed(self.now, start.key, serial, error, out_of_memory=error.out_of_memory))

    @precondition(lambda self: self.machine.ending)
    @rule(data=st.data())
    def ended(self, data: st.DataObject) -> None:
        serial = data.draw(st.sampled_from(sorted(self.machine.ending)))
        self.happen(Stopped(self.now, self.machine.ending.pop(serial), serial))

    @precondition(lambda self: self.machine.ready)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        serial = data.draw(st.sampled_from(sorted(self.machine.ready)))
        self.happen(Exited(self.now, self.machine.ready.pop(serial), serial))

    @precondition(lambda self: self.machine.checking)
    @rule(healthy=st.booleans())
    def checked(self, healthy: bool) -> None:
        serial, key = self.machine.checking.popitem()
        self.happen(HealthChecked(self.now, key, serial, healthy))

    @rule(model=st.sampled_from(MODELS))
    def unload(self, model: str) -> None:
        self.happen(UnloadAsked(self.now, f"/models/{model}"))

    @rule(seconds=st.sampled_from((1, 6, 40, 400)))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND_NS
        self.happen(Ticked(self.now))

    # what always holds

    @invariant()
    def those_who_wait_are_in_the_queue(self) -> None:
        assert {request.id for request in self.world.queue} == set(self.machine.waiting)

    @invariant()
    def no_more_models_than_allowed(self) -> None:
        assert len(self.world.runners) <= 2
        assert len(self.machine.starting) <= 1

    @invariant()
    def leases_are_counted_right(self) -> None:
        for runner in self.world.runners.values():
            if isinstance(runner, Ready):
                held = sum(lease == (runner.key, runner.serial) for lease in self.machine.leases.values())
                assert runner.leases == held

    @invariant()
    def somebody_sees_to_those_who_wait(self) -> None:
        """Whoever waits, waits for something that will come by itself."""
        machine = self.machine
        busy = machine.measuring or machine.starting or machine.ending or machine.checking or machine.leases
        assert not machine.waiting or busy or next_deadline(self.world, self.now) is not None

    @invariant()
    def runners_make_way_only_for_those_who_wait(self) -> None:
        for runner in self.world.runners.values():
            if isinstance(runner, Ready) and runner.rival is not None:
                assert runner.rival.request_id in self.machine.waiting

    @invariant()
    def nobody_waits_for_a_runner_that_is_free_for_it(self) -> None:
        for request in self.world.queue:
            runner = self.world.runners.get(request.key)
            if isinstance(runner, Ready) and runner.suits(request):
                assert runner.checking or (runner.rival is not None and runner.rival.request_id < request.id)

    def teardown(self) -> None:
        """From any state, when all goes well from now on, every request ends."""
        for _ in range(2000):
            if not self.machine.waiting and not self.machine.leases:
                return
            self._go_on()
        raise AssertionError("some request never ends")

    # the machine

    def happen(self, event: Event) -> None:
        self.world, effects = decide(self.world, event)
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        machine = self.machine
        match effect:
            case Measure():
                assert not machine.measuring
                machine.measuring = True
            case StartLoad():
                assert isinstance(self.world.runners[effect.key], Loading)
                assert effect.key not in (*machine.ready.values(), *machine.ending.values())
                machine.starting[effect.serial] = effect
            case CancelLoad(key, serial):
                start = machine.starting.pop(serial)
                assert all(request.spec != start.order.spec for request in machine.waiting.values())
                assert machine.waiting, "given up although nobody else waits"
                machine.ending[serial] = key
            case Stop(key, serial, reason):
                if reason is not Reason.CRASHED:
                    assert (key, serial) not in machine.leases.values(), "work was killed"
                    machine.checking.pop(serial, None)
                    machine.ending[serial] = machine.ready.pop(serial)
            case CheckHealth(key, serial):
                machine.checking[serial] = key
            case Grant(request_id, key, serial):
                request = machine.waiting.pop(request_id)
                runner = self.world.runners[key]
                assert isinstance(runner, Ready)
                assert (request.key, serial) == (key, runner.serial)
                assert runner.suits(request)
                machine.leases[request_id] = (key, serial)
            case Fail(request_id, _):
                del machine.waiting[request_id]

    def _ready(self, start: StartLoad) -> None:
        spec = start.order.spec
        spec = replace(spec, options=replace(spec.options, use_mmap=False))
        self.machine.ready[start.serial] = start.key
        self.happen(Loaded(self.now, start.key, start.serial, spec, mmap_auto=True))

    def _release(self, request_id: int, suspect: bool = False, out_of_memory: bool = False) -> None:
        key, serial = self.machine.leases.pop(request_id)
        self.happen(Released(self.now, key, serial, suspect=suspect, out_of_memory=out_of_memory))

    def _go_on(self) -> None:
        machine = self.machine
        self.now += SECOND_NS // 100
        if machine.measuring:
            machine.measuring = False
            self.happen(Measured(self.now, SystemMemory(total_bytes=2**40, free_bytes=2**40)))
        elif machine.starting:
            self._ready(machine.starting.popitem()[1])
        elif machine.ending:
            serial, key = machine.ending.popitem()
            self.happen(Stopped(self.now, key, serial))
        elif machine.checking:
            serial, key = machine.checking.popitem()
            self.happen(HealthChecked(self.now, key, serial, healthy=True))
        elif machine.leases:
            self._release(min(machine.leases))
        else:
            self.now = next_deadline(self.world, self.now) or self.now
            self.happen(Ticked(self.now))


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = hypothesis_settings(max_examples=80, stateful_step_count=60, deadline=None)
