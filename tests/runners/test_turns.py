"""Who computes on the cores, and for how long."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.runners.turns import Turns, fitting

AT_ONCE_S = 1e-6
NEVER_S = timedelta(hours=1).total_seconds()


class Process:
    """A worker that tells whether it is held up."""

    def __init__(self, *, computes: bool = True) -> None:
        self.computes = computes
        self.used_s = 0.0
        self.runs = asyncio.Event()
        self.runs.set()
        self.is_held = asyncio.Event()

    def pause(self) -> None:
        assert self.runs.is_set(), "paused twice"
        self.runs.clear()
        self.is_held.set()

    def resume(self) -> None:
        assert self.is_held.is_set(), "resumed without need"
        self.is_held.clear()
        self.runs.set()

    def cpu_s(self) -> float:
        self.used_s += self.computes
        return self.used_s


@pytest.mark.parametrize(
    ("threads", "cores", "expected"),
    [
        ([2], 2, [0]),
        ([8], 2, [0]),  # who asked for more than there is
        ([2, 2], 2, [0]),
        ([2, 2], 4, [0, 1]),
        ([4, 2, 2], 6, [0, 1]),
        ([4, 6, 2], 6, [0, 2]),
        ([1, 2], 2, [0]),
        ([1, 1, 1], 2, [0, 1, 2]),
        ([], 2, []),
    ],
)
def test_those_compute_that_have_cores(threads: list[int], cores: int, expected: list[int]) -> None:
    assert sorted(fitting(dict(enumerate(threads)), cores)) == expected


async def test_one_alone_is_never_held_up() -> None:
    turns, alone = Turns(2, AT_ONCE_S), Process()
    with turns.working(alone, 2), turns.working(alone, 2):
        assert alone.runs.is_set()


async def test_the_second_waits_for_its_turn_and_then_the_first() -> None:
    turns, first, second = Turns(2, AT_ONCE_S), Process(), Process()
    with turns.working(first, 2), turns.working(second, 2):
        assert second.is_held.is_set()
        for _ in range(3):
            await second.runs.wait()
            assert first.is_held.is_set()
            await first.runs.wait()
            assert second.is_held.is_set()
    assert first.runs.is_set()
    assert second.runs.is_set()


async def test_who_has_nothing_more_to_do_makes_room_at_once() -> None:
    turns, first, second = Turns(2, NEVER_S), Process(), Process()
    with ExitStack() as stack:
        with turns.working(first, 2):
            stack.enter_context(turns.working(second, 2))
            assert second.is_held.is_set()
        assert second.runs.is_set()


async def test_who_leaves_while_held_up_goes_on() -> None:
    turns, first, second = Turns(2, NEVER_S), Process(), Process()
    with turns.working(first, 2):
        with turns.working(second, 2):
            assert second.is_held.is_set()
        assert second.runs.is_set()
        assert first.runs.is_set()


async def test_who_computes_nothing_in_its_turn_lets_the_others_compute_until_it_does() -> None:
    turns, first, second, idle = Turns(2, AT_ONCE_S), Process(), Process(), Process(computes=False)
    with turns.working(idle, 2), turns.working(first, 2):
        assert first.is_held.is_set()
        await first.runs.wait()
        assert idle.runs.is_set()
        with turns.working(second, 2):
            for process in (second, first, second, first):
                await process.runs.wait()
                assert idle.runs.is_set()
        idle.computes = True
        await idle.is_held.wait()
        await first.is_held.wait()


async def test_a_worker_of_several_calls_is_held_up_once_and_stays_until_the_last() -> None:
    turns, first, second = Turns(2, NEVER_S), Process(), Process()
    with turns.working(first, 2):
        with turns.working(second, 2), turns.working(second, 2):
            pass
        assert second.runs.is_set()


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=40), st.integers(1, 8))
def test_whatever_comes_and_goes_nobody_is_forgotten(steps: list[tuple[int, bool]], cores: int) -> None:
    async def run() -> None:
        turns, processes = Turns(cores, AT_ONCE_S), [Process() for _ in range(5)]
        present: dict[int, ExitStack] = {}
        for number, turn_passes in steps:
            if number in present:
                present.pop(number).close()
            else:
                present[number] = ExitStack()
                present[number].enter_context(turns.working(processes[number], number + 1))
            at_work = [each + 1 for each in present if processes[each].runs.is_set()]
            assert bool(at_work) == bool(present)
            assert sum(at_work) <= cores or len(at_work) == 1
            if turn_passes:
                for each in present:
                    await processes[each].runs.wait()
        for stack in present.values():
            stack.close()
        assert all(process.runs.is_set() for process in processes)

    asyncio.run(run())
