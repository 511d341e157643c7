"""Synchronous work step by step in threads: it is closed, whoever leaves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from orchestrator.process.stepping import stepped


class Work:
    """Counts in a thread, and remembers how it ended."""

    def __init__(self, steps: int = 1_000_000) -> None:
        self._steps = steps
        self.threads: set[int] = set()
        self.is_closed = False

    def run(self) -> Iterator[int]:
        try:
            for number in range(self._steps):
                self.threads.add(threading.get_ident())
                yield number
        finally:
            self.is_closed = True


async def test_every_step_is_given_in_order_from_a_thread() -> None:
    work = Work(5)
    assert [step async for step in stepped(work.run())] == [0, 1, 2, 3, 4]
    assert threading.get_ident() not in work.threads
    assert work.is_closed


async def test_whoever_leaves_closes_the_work() -> None:
    work = Work()
    async with aclosing(stepped(work.run())) as steps:
        assert await anext(steps) == 0
    assert work.is_closed


async def test_a_step_that_has_begun_is_ended_before_a_cancellation_is_raised() -> None:
    begun, may_end = threading.Event(), threading.Event()
    ended = False

    def run() -> Iterator[int]:
        nonlocal ended
        begun.set()
        may_end.wait(30)
        ended = True
        yield 1

    async def follow() -> None:
        async with aclosing(stepped(run())) as steps:
            await anext(steps)

    following = asyncio.ensure_future(follow())
    await asyncio.to_thread(begun.wait, 30)
    following.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await following
    assert ended


async def test_a_failure_of_the_work_is_raised() -> None:
    def run() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        assert [step async for step in stepped(run())]


async def test_any_iterator_can_be_stepped_through() -> None:
    assert [step async for step in stepped(iter([1, 2]))] == [1, 2]
