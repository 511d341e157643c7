from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from orchestrator.domain.durations import SECOND_NS, KeepAlive
from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import EngineRefused, QueueFull, RunnerFailed, ShuttingDown
from orchestrator.scheduler.effects import Reason
from orchestrator.scheduler.loop import Scheduler
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.scheduler.views import RunnerState
from tests.scheduler.engine import Ears, Load, PlentyOfMemory, ScriptedEngine
from tests.scheduler.specs import a_spec

RED, BLUE, GREEN = (a_spec(name) for name in ("red", "blue", "green"))
ONE = SchedulerSettings(max_loaded=1)
AT_ONCE = KeepAlive(0)
SOON = KeepAlive(20_000_000)


@dataclass
class Client:
    """A task that holds a lease until it is told to give it back."""

    scheduler: Scheduler
    spec: LoadSpec
    keep_alive: KeepAlive | None = None
    got: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        async with self.scheduler.lease(self.spec, self.keep_alive):
            self.got.set()
            await self.done.wait()


@dataclass
class House:
    """A running scheduler and what surrounds it."""

    scheduler: Scheduler
    engine: ScriptedEngine
    ears: Ears
    group: asyncio.TaskGroup
    running: asyncio.Task[None]

    def client(
        self, spec: LoadSpec, keep_alive: KeepAlive | None = None
    ) -> tuple[Client, asyncio.Task[None]]:
        client = Client(self.scheduler, spec, keep_alive)
        return client, self.group.create_task(client.run())

    async def loading(self, spec: LoadSpec) -> tuple[asyncio.Task[None], Load]:
        """A client, and the load that has begun for it."""
        _, task = self.client(spec)
        return task, await self.engine.asked.get()

    async def use(self, spec: LoadSpec, keep_alive: KeepAlive | None = None) -> None:
        async with self.scheduler.lease(spec, keep_alive):
            pass

    def states(self) -> dict[str, RunnerState]:
        return {view.files.name: view.state for view in self.scheduler.loaded()}

    async def left(self) -> None:
        """Until a runner is on its way out."""
        await self.ears.changed.wait()
        self.ears.changed.clear()


@asynccontextmanager
async def house(settings: SchedulerSettings | None = None, *, held: bool = False) -> AsyncIterator[House]:
    engine, ears, started = ScriptedEngine(held=held), Ears(), asyncio.Event()
    scheduler = Scheduler(engine, settings or SchedulerSettings(), PlentyOfMemory(), ears)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(scheduler.run(started=started))
        await started.wait()
        try:
            yield House(scheduler, engine, ears, group, running)
        finally:
            running.cancel()
    assert engine.alive == [], "a process outlived the scheduler"


async def settled() -> None:
    """Until everything that was ready to run has run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_lease_gives_a_runner_with_the_options_in_force() -> None:
    async with house() as here, here.scheduler.lease(RED) as lease:
        assert lease.runner is here.engine.processes[0]
        assert lease.spec.options.use_mmap is False
        assert lease.waited_ns >= lease.load_ns > 0


async def test_a_second_lease_shares_the_runner_and_has_waited_for_no_load() -> None:
    async with house() as here, here.scheduler.lease(RED), here.scheduler.lease(RED) as second:
        assert here.engine.names == ["red"]
        assert second.load_ns == 0
        [view] = here.scheduler.loaded()
        assert (view.active, view.state, view.pid) == (2, RunnerState.READY, 1000)


async def test_everyone_who_waits_for_a_load_gets_its_error() -> None:
    async with house(held=True) as here:
        waiters = [asyncio.ensure_future(here.use(RED)) for _ in range(3)]
        load = await here.engine.asked.get()
        here.engine.finish(load, RunnerFailed("exit status 1: no"))
        results = await asyncio.gather(*waiters, return_exceptions=True)
        assert [str(result) for result in results] == ["exit status 1: no"] * 3
        assert here.scheduler.loaded() == ()
        assert here.ears.loads == [False]


async def test_the_next_request_tries_again() -> None:
    async with house(held=True) as here:
        first = asyncio.ensure_future(here.use(RED))
        here.engine.finish(await here.engine.asked.get(), RunnerFailed("exit status 1: no"))
        with pytest.raises(RunnerFailed, match="exit status 1: no"):
            await first
        second = asyncio.ensure_future(here.use(RED))
        here.engine.finish(await here.engine.asked.get())
        await second
        assert here.ears.loads == [False, True]


async def test_a_full_queue_refuses_at_once() -> None:
    async with house(SchedulerSettings(max_queue=1), held=True) as here:
        red, _ = await here.loading(RED)
        _, blue = here.client(BLUE)
        await settled()
        with pytest.raises(QueueFull):
            await here.use(GREEN)
        assert here.scheduler.queue().length == 2
        assert here.scheduler.queue().by_model == {"red": 1, "blue": 1}
        red.cancel()
        blue.cancel()


@pytest.mark.parametrize("keep_alive", [None, KeepAlive.parse("1h"), KeepAlive.FOREVER])
async def test_a_runner_that_loads_tells_the_keep_alive_it_will_have(keep_alive: KeepAlive | None) -> None:
    default = KeepAlive.parse("7m")
    async with house(SchedulerSettings(keep_alive=default), held=True) as here:
        _, task = here.client(RED, keep_alive)
        await here.engine.asked.get()
        [view] = here.scheduler.loaded()
        assert view.state is RunnerState.LOADING
        assert view.expires_ns is not None
        assert abs(view.expires_ns - time.time_ns() - (keep_alive or default).ns) < SECOND_NS
        task.cancel()


async def test_an_idle_runner_leaves_when_its_keep_alive_is_over() -> None:
    async with house() as here:
        await here.use(RED, SOON)
        [view] = here.scheduler.loaded()
        assert view.expires_ns is not None
        assert abs(view.expires_ns - time.time_ns()) < SECOND_NS
        await here.left()
        assert here.ears.left == [Reason.EXPIRED]
        await here.engine.processes[0].gone.wait()
        await settled()
        assert here.scheduler.loaded() == ()


async def test_keep_alive_zero_ends_the_runner_with_the_lease() -> None:
    async with house() as here:
        await here.use(RED, AT_ONCE)
        assert here.states() == {"red": RunnerState.STOPPING}
        await settled()
        assert here.states() == {}


async def test_unload_lets_a_busy_runner_finish_and_shows_it_draining() -> None:
    async with house() as here:
        client, _ = here.client(RED)
        await client.got.wait()
        assert here.scheduler.unload(RED.files.key)
        assert here.states() == {"red": RunnerState.DRAINING}
        client.done.set()
        await here.left()
        assert not here.scheduler.unload(BLUE.files.key)


async def test_a_deleted_model_leaves_memory() -> None:
    async with house() as here:
        await here.use(RED)
        here.scheduler.unload(RED.files.key)
        await settled()
        assert here.engine.alive == []


# cancelling


async def test_a_client_that_leaves_the_queue_causes_no_load() -> None:
    async with house(ONE) as here:
        red, _ = here.client(RED)
        await red.got.wait()
        _, blue = here.client(BLUE)
        await settled()
        blue.cancel()
        await settled()
        assert here.scheduler.queue().length == 0
        red.done.set()
        await here.use(RED)
        assert here.engine.names == ["red"]


async def test_a_load_goes_on_when_its_client_leaves_and_nobody_else_waits() -> None:
    async with house(held=True) as here:
        task, load = await here.loading(RED)
        task.cancel()
        await settled()
        here.engine.finish(load)
        await settled()
        assert here.states() == {"red": RunnerState.READY}
        await here.use(RED)
        assert here.engine.names == ["red"]


async def test_a_load_is_given_up_when_somebody_else_waits() -> None:
    async with house(held=True) as here:
        task, load = await here.loading(RED)
        blue, _ = here.client(BLUE)
        task.cancel()
        next_load = await here.engine.asked.get()
        assert load.reaped
        assert next_load.name == "blue"
        here.engine.finish(next_load)
        await blue.got.wait()
        assert here.states() == {"blue": RunnerState.READY}
        blue.done.set()


async def test_a_client_cancelled_in_the_moment_of_the_grant_gives_the_lease_back() -> None:
    async with house(held=True) as here:
        task, load = await here.loading(RED)
        here.engine.finish(load)
        await here.ears.heard.wait()
        assert here.scheduler.queue().length == 0  # granted, but the client has not run yet
        task.cancel()
        await settled()
        [view] = here.scheduler.loaded()
        assert view.active == 0


async def test_a_client_cancelled_before_the_grant_but_not_yet_awake_holds_nothing() -> None:
    async with house(held=True) as here:
        task, load = await here.loading(RED)
        here.engine.finish(load)
        task.cancel()
        await settled()
        [view] = here.scheduler.loaded()
        assert (view.active, view.state) == (0, RunnerState.READY)


async def test_a_client_cancelled_twice_gives_its_lease_back_once() -> None:
    async with house() as here:
        client, task = here.client(RED)
        await client.got.wait()
        task.cancel()
        task.cancel()
        await settled()
        [view] = here.scheduler.loaded()
        assert view.active == 0


async def test_a_client_that_leaves_as_its_load_fails_is_no_trouble() -> None:
    async with house(held=True) as here:
        task, load = await here.loading(RED)
        here.engine.finish(load, RunnerFailed("no"))
        await here.ears.heard.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert here.scheduler.loaded() == ()


# crashes and failures


@pytest.mark.parametrize("error", [ValueError("no such form"), OSError("disk gone")])
async def test_a_fault_of_ours_in_one_load_fails_that_load_alone(error: Exception) -> None:
    async with house(held=True) as here:
        asking = asyncio.create_task(here.use(RED))
        here.engine.finish(await here.engine.asked.get(), error)
        with pytest.raises(RunnerFailed, match="could not be loaded"):
            await asking
        asking = asyncio.create_task(here.use(BLUE))
        here.engine.finish(await here.engine.asked.get())
        await asking


async def test_a_runner_that_dies_is_forgotten_at_once_and_started_afresh() -> None:
    async with house() as here:
        await here.use(RED)
        here.engine.processes[0].kill()
        await here.left()
        assert here.ears.left == [Reason.CRASHED]
        assert here.states() == {}
        await here.use(RED)
        assert here.engine.names == ["red", "red"]


async def test_a_runner_that_died_this_very_moment_is_not_lent_again() -> None:
    async with house() as it:
        await it.use(RED)
        it.engine.processes[0].kill()
        await it.use(RED)
        assert len(it.engine.processes) == 2


async def test_an_error_of_the_runner_passes_through_the_lease_and_frees_it() -> None:
    async with house() as here:
        with pytest.raises(RunnerFailed, match="stream broke off"):
            async with here.scheduler.lease(RED):
                raise RunnerFailed("stream broke off")
        here.engine.processes[0].healthy = False
        await here.use(RED)
        assert here.engine.names == ["red", "red"]
        assert here.ears.left == [Reason.UNHEALTHY]


@pytest.mark.parametrize(
    "error",
    [
        RunnerFailed("CUDA error: out of memory", out_of_memory=True),
        EngineRefused('{"error": "failed to allocate buffer"}', status=500),
    ],
)
async def test_out_of_memory_while_generating_ends_every_runner(error: Exception) -> None:
    async with house() as here:
        await here.use(BLUE)
        with pytest.raises(type(error)):
            async with here.scheduler.lease(RED):
                raise error
        assert set(here.states().values()) == {RunnerState.STOPPING}
        await settled()
        assert here.engine.alive == []


@pytest.mark.parametrize("error", [EngineRefused("bad request", status=400), ValueError("ours")])
async def test_other_errors_leave_the_runners_alone(error: Exception) -> None:
    async with house() as here:
        with pytest.raises(type(error)):
            async with here.scheduler.lease(RED):
                raise error
        assert here.states() == {"red": RunnerState.READY}


# case B110


async def test_a_runner_deaf_to_its_stop_is_shown_and_holds_up_only_its_own_place() -> None:
    async with house(ONE) as here:
        await here.use(RED)
        here.engine.processes[0].may_stop.clear()
        blue, _ = here.client(BLUE)
        await here.engine.processes[0].stopping.wait()
        assert here.states() == {"red": RunnerState.STOPPING}
        assert here.scheduler.queue().length == 1
        here.engine.processes[0].may_stop.set()  # the deadline of the stop, then the kill
        await blue.got.wait()
        blue.done.set()
        assert here.states() == {"blue": RunnerState.READY}


# shutting down


async def test_shutting_down_wakes_every_waiter_and_reaps_a_load() -> None:
    async with house(held=True) as here:
        red, blue = asyncio.ensure_future(here.use(RED)), asyncio.ensure_future(here.use(BLUE))
        load = await here.engine.asked.get()
        here.running.cancel()
        for waiter in (red, blue):
            with pytest.raises(ShuttingDown):
                await waiter
        with suppress(asyncio.CancelledError):
            await here.running
        assert load.reaped
        with pytest.raises(ShuttingDown):
            await here.use(GREEN)


async def test_shutting_down_ends_runners_that_are_lent() -> None:
    async with house() as here:
        client, _ = here.client(RED)
        await client.got.wait()
        here.running.cancel()
        with suppress(asyncio.CancelledError):
            await here.running
        assert here.engine.alive == []
        client.done.set()


async def test_a_second_cancel_does_not_cut_the_shut_down_short() -> None:
    async with house() as here:
        await here.use(RED)
        process = here.engine.processes[0]
        process.may_stop.clear()
        here.running.cancel()
        await process.stopping.wait()
        here.running.cancel()
        await settled()
        assert not here.running.done()
        process.may_stop.set()
        with suppress(asyncio.CancelledError):
            await here.running
        assert process.gone.is_set()


async def test_shutting_down_while_a_runner_stops_waits_for_it() -> None:
    async with house() as here:
        client, _ = here.client(RED, AT_ONCE)
        await client.got.wait()
        process = here.engine.processes[0]
        process.may_stop.clear()
        client.done.set()
        await process.stopping.wait()
        here.running.cancel()
        await settled()
        assert not here.running.done()
        process.may_stop.set()


async def test_nothing_is_lent_before_the_scheduler_runs() -> None:
    scheduler = Scheduler(ScriptedEngine(), SchedulerSettings(), PlentyOfMemory())
    with pytest.raises(ShuttingDown):
        async with scheduler.lease(RED):
            pass


# many


async def test_two_hundred_parallel_clients_leave_nothing_behind() -> None:
    async with house(SchedulerSettings(max_loaded=2)) as here:
        async with asyncio.TaskGroup() as clients:
            for number in range(200):
                clients.create_task(here.use(a_spec(f"m{number % 5}")))
        assert here.scheduler.queue().length == 0
        assert all(view.active == 0 for view in here.scheduler.loaded())
        assert len(here.ears.waits) == 200
