from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.durations import MAX_NS, SECOND_NS, KeepAlive
from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import QueueFull, RunnerFailed, ShuttingDown
from orchestrator.runners.base import MemoryUse
from orchestrator.scheduler.decide import decide
from orchestrator.scheduler.effects import Fail, Reason, StartLoad, Stop
from orchestrator.scheduler.errors import NotEnoughMemory
from orchestrator.scheduler.events import Asked, ClosedDown, Exited, Loaded, Released, Stopped
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.scheduler.world import Request, World
from tests.scheduler.simulation import PLENTY, Simulation
from tests.scheduler.specs import GIB, a_spec

RED, BLUE, GREEN, PINK = (a_spec(name) for name in ("red", "blue", "green", "pink"))
ONE = SchedulerSettings(max_loaded=1)
GPU = Device(library="CUDA", id="0", name="CUDA0", total_bytes=24 * GIB, free_bytes=23 * GIB)

OUT_OF_MEMORY = RunnerFailed("exit status 1: cudaMalloc failed: out of memory", out_of_memory=True)


def spoken_for(simulation: Simulation) -> bool:
    return all(call.is_over for call in simulation.calls)


# residency


def test_a_loaded_model_is_used_again() -> None:
    simulation = Simulation()
    simulation.ask(RED, at=0)
    second = simulation.ask(RED, at=10)
    simulation.run()
    assert simulation.started == ["red"]
    assert second.waited_s == 0


def test_requests_for_a_loaded_model_do_not_wait_while_another_loads() -> None:
    simulation = Simulation(load_s=10)
    simulation.ask(RED, at=0)
    simulation.ask(BLUE, at=20)
    reused = simulation.ask(RED, at=21)
    simulation.run()
    assert reused.waited_s == 0


def test_who_wants_a_model_that_is_loading_shares_the_load() -> None:
    simulation = Simulation()
    calls = [simulation.ask(RED, at=moment) for moment in (0, 1, 2.9)]
    simulation.run()
    assert simulation.started == ["red"]
    assert [call.granted_at for call in calls] == [3, 3, 3]


def test_an_idle_runner_leaves_after_its_keep_alive_counted_from_the_end_of_the_last_request() -> None:
    simulation = Simulation(load_s=0)
    simulation.ask(RED, at=0, work=1, keep_alive=10)
    simulation.ask(RED, at=5, work=1)
    simulation.run(until=15.9)
    assert simulation.loaded == ["red"]
    simulation.run(until=16.1)
    assert simulation.loaded == []
    assert simulation.stops == [("/models/red", Reason.EXPIRED)]


def test_a_keep_alive_stays_in_force_until_a_request_brings_another() -> None:
    simulation = Simulation(load_s=0)
    simulation.ask(RED, at=0, work=0, keep_alive=1)
    simulation.ask(RED, at=0.5, work=0)
    simulation.ask(RED, at=1, work=0, keep_alive=600)
    simulation.run(until=300)
    assert simulation.loaded == ["red"]


def test_without_a_keep_alive_the_operators_holds() -> None:
    simulation = Simulation(SchedulerSettings(keep_alive=KeepAlive(2 * SECOND_NS)), load_s=0)
    simulation.ask(RED, at=0, work=0)
    simulation.run(until=1.9)
    assert simulation.loaded == ["red"]
    simulation.run(until=2.2)
    assert simulation.loaded == []


def test_keep_alive_zero_ends_the_runner_with_the_request_and_not_before() -> None:
    simulation = Simulation(load_s=0)
    simulation.ask(RED, at=0, work=5)
    simulation.ask(RED, at=1, work=1, keep_alive=0)
    simulation.run(until=5.9)
    assert simulation.loaded == ["red"]
    simulation.run(until=6.2)
    assert simulation.loaded == []


def test_a_pinned_runner_never_expires() -> None:
    simulation = Simulation(load_s=0)
    simulation.ask(RED, at=0, keep_alive=MAX_NS / SECOND_NS)
    simulation.run(until=1_000_000)
    assert simulation.loaded == ["red"]


@pytest.mark.parametrize(
    ("wanted_s", "bounded_s"), [(30, 3600), (3600, 3600), (5000, 5000), (90_000, 86_400), (0, 3600)]
)
def test_the_operators_floor_and_ceiling_bound_a_keep_alive(wanted_s: int, bounded_s: int) -> None:
    settings = SchedulerSettings(
        keep_alive_min=KeepAlive(3600 * SECOND_NS), keep_alive_max=KeepAlive(86_400 * SECOND_NS)
    )
    assert settings.bounded(KeepAlive(wanted_s * SECOND_NS)) == bounded_s * SECOND_NS
    assert settings.bounded(KeepAlive.FOREVER) == 86_400 * SECOND_NS


def test_an_explicit_unload_ends_an_idle_runner_at_once() -> None:
    simulation = Simulation(load_s=0)
    simulation.ask(RED, at=0, work=0)
    simulation.unload(RED, at=5)
    simulation.run(until=5.2)
    assert simulation.loaded == []


def test_an_explicit_unload_lets_a_busy_runner_finish() -> None:
    simulation = Simulation(load_s=0)
    call = simulation.ask(RED, at=0, work=10)
    simulation.unload(RED, at=5)
    simulation.run(until=9)
    assert simulation.loaded == ["red"]
    simulation.run(until=11)
    assert simulation.loaded == []
    assert call.ended_at == 10


def test_unloading_what_is_not_loaded_does_nothing() -> None:
    simulation = Simulation()
    simulation.unload(RED, at=0)
    simulation.run()
    assert (simulation.starts, simulation.stops) == ([], [])


# eviction


def loaded_in_turn(settings: SchedulerSettings, *keep_alives: float | None) -> Simulation:
    """Red, blue, green … loaded one after the other, each with its keep-alive."""
    simulation = Simulation(settings, load_s=0.1)
    for moment, (spec, keep_alive) in enumerate(
        zip((RED, BLUE, GREEN, PINK), keep_alives, strict=False), start=1
    ):
        simulation.ask(spec, at=moment, work=0, keep_alive=keep_alive)
    simulation.run()
    return simulation


def test_three_models_fit_without_a_limit_and_without_a_gpu() -> None:
    assert loaded_in_turn(SchedulerSettings(), None, None, None, None).loaded == ["blue", "green", "pink"]


def test_three_models_fit_per_gpu() -> None:
    simulation = Simulation(devices=(GPU, replace(GPU, id="1", name="CUDA1")), load_s=0.1)
    for number in range(7):
        simulation.ask(a_spec(f"m{number}"), at=number)
    simulation.run()
    assert len(simulation.loaded) == 6


def test_the_shortest_keep_alive_is_evicted_first() -> None:
    assert loaded_in_turn(SchedulerSettings(), 1800, 600, 1200, None).loaded == ["green", "pink", "red"]


def test_pinned_models_are_evicted_last() -> None:
    forever = MAX_NS / SECOND_NS
    assert loaded_in_turn(SchedulerSettings(), forever, 3_600_000, forever, None).loaded == [
        "green", "pink", "red",
    ]  # fmt: skip


def test_among_equal_keep_alives_the_least_recently_used_is_evicted() -> None:
    simulation = loaded_in_turn(SchedulerSettings(max_loaded=2), None, None)
    simulation.ask(RED, work=0)
    simulation.ask(GREEN, at=simulation.now + 1)
    simulation.run()
    assert simulation.loaded == ["green", "red"]


def test_an_idle_runner_is_evicted_before_a_busy_one_of_shorter_keep_alive() -> None:
    simulation = Simulation(SchedulerSettings(max_loaded=2), load_s=0.1)
    busy = simulation.ask(RED, at=0, work=60, keep_alive=1)
    simulation.ask(BLUE, at=1, work=0, keep_alive=9999)
    wanted = simulation.ask(GREEN, at=2, work=0)
    simulation.run(until=5)
    assert simulation.loaded == ["green", "red"]
    assert wanted.ended_at is not None
    assert busy.ended_at is None


def test_when_all_are_busy_the_first_that_becomes_idle_leaves() -> None:
    simulation = Simulation(SchedulerSettings(max_loaded=2), load_s=0.1)
    simulation.ask(RED, at=0, work=60, keep_alive=1)
    simulation.ask(BLUE, at=1, work=5, keep_alive=9999)
    wanted = simulation.ask(GREEN, at=2, work=0)
    simulation.run()
    assert wanted.granted_at is not None
    assert wanted.granted_at < 7


# case B099: admission to lease without a gap


def test_a_model_loaded_for_a_request_is_not_evicted_before_that_request_ran() -> None:
    simulation = Simulation(ONE, load_s=0.3)
    first = simulation.ask(RED, at=0)
    second = simulation.ask(BLUE, at=0.1)
    simulation.run()
    assert first.granted_at == pytest.approx(0.3)
    assert second.ended_at is not None
    assert simulation.started == ["red", "blue"]


# case B100


def test_two_requests_for_two_models_that_are_not_loaded_both_end_in_every_round() -> None:
    simulation = Simulation(ONE, load_s=0.3)
    for number in range(500):
        simulation.ask(RED, at=10 * number)
        simulation.ask(BLUE, at=10 * number + 5)
        simulation.ask(GREEN, at=10 * number + 5)
    simulation.run()
    assert all(call.ended_at is not None for call in simulation.calls)
    assert max(call.waited_s for call in simulation.calls) < 2


# case B102


def test_a_model_that_is_loading_is_never_a_victim() -> None:
    simulation = Simulation(ONE, load_s=10)
    first = simulation.ask(RED, at=0)
    simulation.ask(BLUE, at=5)
    simulation.run()
    assert simulation.cancelled_loads == []
    assert first.granted_at == 10
    assert spoken_for(simulation)


# case B105


def test_work_for_one_model_is_grouped_and_waits_are_bounded() -> None:
    simulation = Simulation(ONE, load_s=3)
    for name in ["red", "blue", "red", "green", "red", "red", "blue"]:
        simulation.ask(a_spec(name), at=0, work=0.5)
    simulation.run()
    assert simulation.started == ["red", "blue", "green"]
    assert max(call.waited_s for call in simulation.calls) < 13


def test_a_batch_that_comes_one_by_one_is_grouped_too() -> None:
    simulation = Simulation(ONE, load_s=3)
    for number in range(40):
        simulation.ask(a_spec("red" if number % 2 else "blue"), at=0.4 * number, work=0.3)
    simulation.run()
    assert len(simulation.starts) <= 10  # strict order of arrival would need 40
    assert max(call.waited_s for call in simulation.calls) < 20


def test_steady_work_for_one_model_does_not_starve_another() -> None:
    simulation = Simulation(ONE, load_s=3)
    for number in range(200):
        simulation.ask(RED, at=0.25 * number, work=0.6)  # more than one slot can do
    blue = simulation.ask(BLUE, at=10.1)
    simulation.run()
    # those who came before, then a turn of five seconds and one last answer, then stop and load
    before = sum(call.asked_at < blue.asked_at for call in simulation.calls)
    assert blue.waited_s <= 3 + before * 0.6 - 10.1 + 5 + 0.6 + 0.1 + 3 + 0.01
    assert spoken_for(simulation)


def test_who_waits_for_a_contended_model_is_served_when_the_rival_leaves() -> None:
    simulation = Simulation(ONE, load_s=1)
    simulation.ask(RED, at=0, work=100)
    rival = simulation.ask(BLUE, at=2, leave_after=20)
    late = simulation.ask(RED, at=15, work=1)
    simulation.run(until=21.9)
    assert late.granted_at is None
    simulation.run(until=22.1)
    assert rival.dropped
    assert late.granted_at == 22


# case B108


def test_clients_with_different_windows_share_the_largest() -> None:
    simulation = Simulation()
    wishes = (a_spec(num_ctx=16384), a_spec(), a_spec(num_ctx=4096))
    for number in range(30):
        simulation.ask(wishes[number % 3], at=10 * number)
    simulation.run()
    assert len(simulation.starts) == 1


def test_a_larger_window_reloads_once() -> None:
    simulation = Simulation()
    simulation.ask(a_spec(), at=0)
    simulation.ask(a_spec(num_ctx=16384), at=10)
    simulation.ask(a_spec(), at=20)
    simulation.run()
    assert [start.order.spec.options.num_ctx for start in simulation.starts] == [4096, 16384]
    assert simulation.stops == [("/models/red", Reason.RELOADED)]


def test_a_reload_waits_for_running_requests_and_for_nothing_else() -> None:
    simulation = Simulation(load_s=1)
    busy = simulation.ask(RED, at=0, work=20)
    reload = simulation.ask(a_spec(num_ctx=16384), at=5)
    other = simulation.ask(BLUE, at=6)
    simulation.run()
    assert busy.ended_at == 21
    assert reload.granted_at == pytest.approx(22.1)
    assert other.granted_at == 7


# case B114


def test_requests_whose_clients_are_gone_cause_no_load() -> None:
    simulation = Simulation(ONE, load_s=1)
    simulation.ask(RED, at=0, work=10)
    for name in ("blue", "green", "pink", "grey"):
        simulation.ask(a_spec(name), at=2, leave_after=3)
    last = simulation.ask(a_spec("white"), at=2)
    simulation.run()
    assert simulation.started == ["red", "white"]
    assert last.ended_at is not None


# case B116


def test_a_load_that_nobody_wants_is_given_up_when_somebody_else_waits() -> None:
    simulation = Simulation(load_s=60)
    simulation.ask(RED, at=0, leave_after=5)
    waiting = simulation.ask(BLUE, at=2)
    simulation.run()
    assert simulation.cancelled_loads == ["/models/red"]
    assert waiting.granted_at == 65


def test_it_is_given_up_too_when_the_other_comes_later() -> None:
    simulation = Simulation(load_s=60)
    simulation.ask(RED, at=0, leave_after=5)
    waiting = simulation.ask(BLUE, at=10)
    simulation.run()
    assert simulation.cancelled_loads == ["/models/red"]
    assert waiting.granted_at == 70


def test_a_load_that_nobody_wants_is_finished_and_kept_when_nobody_waits() -> None:
    simulation = Simulation(load_s=15)
    simulation.ask(RED, at=0, leave_after=5)
    again = simulation.ask(RED, at=10)
    simulation.run()
    assert simulation.started == ["red"]
    assert again.granted_at == 15


def test_such_a_runner_stays_for_the_normal_time() -> None:
    simulation = Simulation(load_s=15)
    simulation.ask(RED, at=0, leave_after=5)
    simulation.run(until=314)
    assert simulation.loaded == ["red"]
    simulation.run(until=316)
    assert simulation.loaded == []


def test_a_load_goes_on_while_one_of_its_sharers_remains() -> None:
    simulation = Simulation(load_s=15)
    simulation.ask(RED, at=0, leave_after=5)
    shared = simulation.ask(RED, at=1)
    simulation.ask(BLUE, at=2)
    simulation.run()
    assert simulation.cancelled_loads == []
    assert shared.granted_at == 15


# case B117, failures


def test_a_failed_start_is_told_to_all_who_shared_it_and_tried_again_for_the_next() -> None:
    results = [RunnerFailed("exit status 1: first"), RunnerFailed("exit status 1: second"), None]
    simulation = Simulation(on_load=lambda start: results[start.serial - 1])
    shared = [simulation.ask(RED, at=0), simulation.ask(RED, at=1)]
    second = simulation.ask(RED, at=10)
    third = simulation.ask(RED, at=20)
    simulation.run()
    assert [str(call.error) for call in shared] == ["exit status 1: first"] * 2
    assert str(second.error) == "exit status 1: second"
    assert third.ended_at is not None
    assert len(simulation.starts) == 3


def test_a_model_that_fails_again_and_again_is_started_at_a_bounded_pace_that_holds_up_nobody() -> None:
    simulation = Simulation(
        load_s=0.01,
        on_load=lambda start: RunnerFailed("broken") if "red" in start.key else None,
    )
    for number in range(200):
        simulation.ask(RED, at=0.02 * number)
    other = simulation.ask(BLUE, at=2)
    simulation.run()
    assert sum(name == "red" for name in simulation.started) < 12
    assert other.waited_s < 0.1
    assert spoken_for(simulation)


def test_a_crash_leaves_nothing_behind_and_the_next_request_starts_afresh() -> None:
    simulation = Simulation()
    simulation.ask(RED, at=0, work=1)
    simulation.crash(RED, at=10)
    again = simulation.ask(RED, at=11)
    simulation.run(until=10.5)
    assert simulation.world.runners == {}
    assert simulation.stops == [("/models/red", Reason.CRASHED)]
    simulation.run()
    assert again.ended_at is not None
    assert simulation.started == ["red", "red"]


def test_nothing_is_restarted_that_nobody_asks_for() -> None:
    simulation = Simulation(on_load=lambda start: RunnerFailed("broken"))
    simulation.ask(RED, at=0)
    simulation.run(until=1000)
    assert len(simulation.starts) == 1


def test_a_lease_of_a_dead_runner_does_not_count_for_its_successor() -> None:
    simulation = Simulation()
    simulation.ask(RED, at=0, work=50)
    simulation.crash(RED, at=10)
    simulation.ask(RED, at=11, work=1000)
    simulation.run(until=20)
    simulation.happen(Released(simulation.ns, RED.files.key, simulation.starts[0].serial))
    runner = simulation.world.runners[RED.files.key]
    assert getattr(runner, "leases", None) == 1


def test_events_of_runners_that_are_gone_change_nothing() -> None:
    world = World(settings=SchedulerSettings())
    for event in (
        Loaded(0, "x", 1, RED), Released(0, "x", 1), Exited(0, "x", 1), Stopped(0, "x", 1),
    ):  # fmt: skip
        assert decide(world, event) == (world, ())


def test_a_load_that_succeeds_although_it_was_given_up_is_ended() -> None:
    simulation = Simulation(load_s=60)
    simulation.ask(RED, at=0, leave_after=5)
    simulation.ask(BLUE, at=6)
    simulation.run(until=6.05)
    start = simulation.starts[0]
    _, effects = decide(simulation.world, Loaded(simulation.ns, start.key, start.serial, RED))
    assert effects == (Stop(start.key, start.serial, Reason.ABANDONED),)


# health


def test_a_runner_not_heard_of_for_long_is_checked_before_it_is_lent() -> None:
    simulation = Simulation()
    simulation.ask(RED, at=0)
    simulation.ask(RED, at=100)
    simulation.run(until=90)
    simulation.healthy = False
    simulation.run()
    assert simulation.started == ["red", "red"]
    assert simulation.stops == [("/models/red", Reason.UNHEALTHY)]
    assert spoken_for(simulation)


def test_a_healthy_one_is_lent_to_all_who_waited_for_the_check() -> None:
    simulation = Simulation()
    simulation.ask(RED, at=0)
    calls = [simulation.ask(RED, at=100), simulation.ask(RED, at=100)]
    simulation.run()
    assert simulation.started == ["red"]
    assert [call.waited_s for call in calls] == [0, 0]


def test_a_runner_that_failed_a_request_is_checked_before_the_next() -> None:
    simulation = Simulation()
    simulation.ask(RED, at=0, work=100)
    simulation.run(until=10)
    runner = simulation.world.runners[RED.files.key]
    simulation.processes[runner.serial].holders.clear()
    simulation.happen(Released(simulation.ns, runner.key, runner.serial, suspect=True))
    simulation.healthy = False
    simulation.ask(RED, at=11)
    simulation.run(until=50)
    assert simulation.stops == [("/models/red", Reason.UNHEALTHY)]


# the bound of the queue


def test_the_bound_counts_those_who_wait_behind_the_one_that_loads() -> None:
    simulation = Simulation(SchedulerSettings(max_queue=1), load_s=1.2)
    calls = [simulation.ask(a_spec(name), at=0.15 * n) for n, name in enumerate(("a", "b", "c", "d"))]
    simulation.run()
    assert [type(call.error) for call in calls] == [type(None), type(None), QueueFull, QueueFull]
    assert calls[2].error is not None
    assert str(calls[2].error) == "server busy, please try again.  maximum pending requests exceeded"


def test_the_bound_does_not_count_those_who_share_a_load_or_a_ready_runner() -> None:
    simulation = Simulation(SchedulerSettings(max_queue=1))
    for moment in (0, 1, 2, 10, 10, 10):
        simulation.ask(RED, at=moment)
    simulation.run()
    assert all(call.error is None for call in simulation.calls)


def test_the_bound_does_not_count_the_one_that_room_is_made_for() -> None:
    simulation = Simulation(SchedulerSettings(max_queue=1, max_loaded=1))
    simulation.ask(RED, at=0, work=60)
    calls = [simulation.ask(a_spec(name), at=10 + n) for n, name in enumerate(("a", "b", "c"))]
    simulation.run()
    assert [type(call.error) for call in calls] == [type(None), type(None), QueueFull]


def test_the_bound_does_not_count_those_who_share_a_start_that_is_being_prepared() -> None:
    simulation = Simulation(SchedulerSettings(max_queue=1, max_loaded=1))
    simulation.ask(RED, at=0, work=60)
    calls = [simulation.ask(BLUE, at=10) for _ in range(20)]
    calls += [simulation.ask(GREEN, at=11), simulation.ask(PINK, at=12), simulation.ask(BLUE, at=13)]
    simulation.run()
    assert [number for number, call in enumerate(calls) if call.error is not None] == [21]


def test_with_a_bound_of_zero_one_request_at_a_time_is_served() -> None:
    simulation = Simulation(SchedulerSettings(max_queue=0))
    first, second = simulation.ask(RED, at=0), simulation.ask(BLUE, at=1)
    simulation.run()
    assert first.ended_at is not None
    assert isinstance(second.error, QueueFull)


def test_five_hundred_and_twelve_wait_and_the_next_is_refused() -> None:
    simulation = Simulation(load_s=1000)
    for number in range(600):
        simulation.ask(a_spec(f"m{number}"), at=0.001 * number)
    simulation.run(until=1)
    assert sum(isinstance(call.error, QueueFull) for call in simulation.calls) == 600 - 513


# memory


def test_a_model_that_exceeds_memory_is_refused_with_both_numbers() -> None:
    system = SystemMemory(total_bytes=8 * GIB, free_bytes=5 * GIB, swap_free_bytes=GIB)
    simulation = Simulation(system=system)
    call = simulation.ask(a_spec(size_bytes=100 * GIB), at=0)
    simulation.run()
    assert isinstance(call.error, NotEnoughMemory)
    assert str(call.error) == ("model requires more system memory (100.0 GiB) than is available (6.0 GiB)")
    assert simulation.starts == []


def test_idle_models_leave_when_memory_is_short() -> None:
    simulation = Simulation(system=SystemMemory(total_bytes=8 * GIB, free_bytes=7 * GIB))
    simulation.ask(a_spec("red", size_bytes=5 * GIB), at=0)
    simulation.run()
    simulation.system = SystemMemory(total_bytes=8 * GIB, free_bytes=2 * GIB)
    blue = simulation.ask(a_spec("blue", size_bytes=5 * GIB), at=10)
    simulation.run(until=10.05)
    assert simulation.stops == [("/models/red", Reason.EVICTED)]
    simulation.system = SystemMemory(total_bytes=8 * GIB, free_bytes=7 * GIB)
    simulation.run()
    assert blue.ended_at is not None
    assert simulation.loaded == ["blue"]


def test_nobody_is_evicted_for_a_model_that_could_never_fit() -> None:
    simulation = Simulation(system=SystemMemory(total_bytes=8 * GIB, free_bytes=7 * GIB))
    simulation.ask(RED, at=0)
    giant = simulation.ask(a_spec("giant", size_bytes=9 * GIB), at=10)
    simulation.run()
    assert isinstance(giant.error, NotEnoughMemory)
    assert simulation.loaded == ["red"]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        pytest.param(
            SchedulerSettings(),
            a_spec("red", num_ctx=100_000, facts={"head_count_max": 8, "embedding_length": 65_536}),
            id="of the same model",
        ),
        pytest.param(
            SchedulerSettings(max_loaded=1), a_spec("giant", size_bytes=9 * GIB), id="of the only place"
        ),
    ],
)
def test_nobody_leaves_for_what_could_never_fit(settings: SchedulerSettings, wanted: LoadSpec) -> None:
    simulation = Simulation(settings, system=SystemMemory(total_bytes=8 * GIB, free_bytes=7 * GIB))
    simulation.ask(RED, at=0)
    giant = simulation.ask(wanted, at=10)
    behind = simulation.ask(RED, at=10)
    simulation.run(until=30)
    assert isinstance(giant.error, NotEnoughMemory)
    assert behind.ended_at is not None
    assert len(simulation.starts) == 1
    assert simulation.stops == []


def test_memory_that_has_grown_is_looked_at_anew() -> None:
    simulation = Simulation(system=SystemMemory(total_bytes=8 * GIB, free_bytes=7 * GIB))
    simulation.ask(RED, at=0)
    simulation.run()
    swap = 8 * GIB
    simulation.system = SystemMemory(total_bytes=8 * GIB, free_bytes=7 * GIB, swap_free_bytes=swap)
    giant = simulation.ask(a_spec("giant", size_bytes=9 * GIB), at=10)
    simulation.run()
    assert giant.ended_at is not None


def test_a_refused_model_does_not_hold_up_the_next_in_line() -> None:
    simulation = Simulation(system=SystemMemory(total_bytes=8 * GIB, free_bytes=7 * GIB))
    simulation.ask(a_spec("giant", size_bytes=9 * GIB), at=0)
    small = simulation.ask(RED, at=0)
    simulation.run()
    assert small.ended_at is not None


def test_the_check_of_memory_can_be_switched_off() -> None:
    simulation = Simulation(
        SchedulerSettings(check_memory=False), system=SystemMemory(total_bytes=GIB, free_bytes=GIB)
    )
    call = simulation.ask(a_spec(size_bytes=100 * GIB), at=0)
    simulation.run()
    assert call.ended_at is not None


# out of memory


def windows(simulation: Simulation) -> list[int]:
    return [start.order.spec.options.num_ctx for start in simulation.starts]


def auto(num_ctx: int) -> LoadSpec:
    spec = a_spec()
    return replace(spec, options=replace(spec.options, num_ctx=num_ctx))


def fails_above(num_ctx: int) -> Simulation:
    def on_load(start: StartLoad) -> RunnerFailed | None:
        return OUT_OF_MEMORY if start.order.spec.options.num_ctx > num_ctx else None

    return Simulation(on_load=on_load)


@pytest.mark.parametrize(
    ("num_ctx", "fits", "tried"),
    [
        (131072, 100_000, [131072, 32768]),
        (131072, 32767, [131072, 32768, 4096]),
        (32768, 4096, [32768, 4096]),
        (8192, 4096, [8192, 4096]),
    ],
)
def test_an_automatic_window_shrinks_until_it_fits(num_ctx: int, fits: int, tried: list[int]) -> None:
    simulation = fails_above(fits)
    call = simulation.ask(auto(num_ctx), at=0)
    simulation.run()
    assert windows(simulation) == tried
    assert call.ended_at is not None


def test_a_shrunken_window_serves_later_automatic_requests() -> None:
    simulation = fails_above(4096)
    simulation.ask(auto(32768), at=0)
    simulation.ask(auto(32768), at=20)
    simulation.ask(a_spec(num_ctx=4096), at=30)
    simulation.run()
    assert windows(simulation) == [32768, 4096]


def test_a_chosen_window_never_shrinks() -> None:
    simulation = fails_above(4096)
    call = simulation.ask(a_spec(num_ctx=32768), at=0)
    simulation.run()
    assert windows(simulation) == [32768]
    assert call.error is OUT_OF_MEMORY


def test_the_others_leave_before_the_second_try() -> None:
    failures = [None, None, OUT_OF_MEMORY, None]
    simulation = Simulation(on_load=lambda start: failures[start.serial - 1])
    simulation.ask(RED, at=0, work=20)
    simulation.ask(BLUE, at=5, work=0)
    call = simulation.ask(a_spec("green", num_ctx=4096), at=10)
    simulation.run()
    assert simulation.started == ["red", "blue", "green", "green"]
    assert simulation.loaded == ["green"]
    assert call.granted_at is not None
    assert call.granted_at > 23


def test_after_the_second_failure_the_error_is_told() -> None:
    simulation = Simulation(on_load=lambda start: OUT_OF_MEMORY if "green" in start.key else None)
    simulation.ask(RED, at=0)
    call = simulation.ask(a_spec("green", num_ctx=4096), at=10)
    simulation.run()
    assert simulation.started == ["red", "green", "green"]
    assert call.error is OUT_OF_MEMORY
    assert simulation.loaded == []


def test_a_sharer_with_a_smaller_wish_of_its_own_gets_its_own_start() -> None:
    simulation = fails_above(4096)
    large = simulation.ask(a_spec(num_ctx=32768), at=0)
    small = simulation.ask(a_spec(num_ctx=2048), at=1)
    simulation.run()
    assert large.error is OUT_OF_MEMORY
    assert small.ended_at is not None


def test_out_of_memory_while_generating_empties_the_devices() -> None:
    simulation = Simulation()
    simulation.ask(RED, at=0)
    simulation.ask(BLUE, at=5, work=100)
    simulation.run(until=20)
    runner = simulation.world.runners[BLUE.files.key]
    simulation.processes[runner.serial].holders.clear()
    simulation.happen(Released(simulation.ns, runner.key, runner.serial, out_of_memory=True))
    simulation.run(until=21)
    assert simulation.world.runners == {}


# GPUs


def test_a_second_model_that_does_not_fit_the_gpu_evicts_the_first() -> None:
    simulation = Simulation(devices=(GPU,))
    simulation.ask(RED, at=0)
    simulation.ask(a_spec("huge", size_bytes=20 * GIB), at=10)
    simulation.run()
    assert simulation.loaded == ["huge"]


def test_a_first_model_is_never_checked_against_the_gpu() -> None:
    simulation = Simulation(devices=(GPU,), system=PLENTY)
    simulation.ask(a_spec("huge", size_bytes=200 * GIB), at=0)
    simulation.run()
    assert simulation.loaded == ["huge"]


def test_what_runners_use_counts_even_where_the_reported_figures_lag() -> None:
    simulation = Simulation(
        devices=(GPU, replace(GPU, id="1", name="CUDA1", free_bytes=22 * GIB)),
        memory_of=lambda start: MemoryUse(20 * GIB, 20 * GIB, {"CUDA0": 20 * GIB}),
    )
    simulation.ask(a_spec("huge", size_bytes=15 * GIB), at=0)
    simulation.ask(a_spec("huge2", size_bytes=15 * GIB), at=10)
    simulation.run()
    assert [[device.id for device in start.order.devices] for start in simulation.starts] == [["0"], ["1"]]
    assert simulation.loaded == ["huge", "huge2"]


# closing down


def test_closing_down_wakes_every_waiter_and_refuses_newcomers() -> None:
    simulation = Simulation(load_s=60)
    simulation.ask(RED, at=0)
    simulation.ask(BLUE, at=1)
    simulation.run(until=2)
    world, effects = decide(simulation.world, ClosedDown(simulation.ns))
    assert [type(effect.error) for effect in effects if isinstance(effect, Fail)] == [ShuttingDown] * 2
    assert world.queue == ()
    _, effects = decide(world, Asked(simulation.ns, Request(99, GREEN, simulation.ns)))
    assert [type(effect.error) for effect in effects if isinstance(effect, Fail)] == [ShuttingDown]
    assert decide(world, Exited(simulation.ns, RED.files.key, 1)) == (world, ())
