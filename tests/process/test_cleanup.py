from __future__ import annotations

import asyncio

import pytest

from orchestrator.process.cleanup import to_the_end


async def test_the_result_of_the_work_is_given() -> None:
    async def work() -> int:
        return 7

    assert await to_the_end(work()) == 7


async def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await to_the_end(work())


async def test_repeated_cancellation_does_not_cut_the_work_short() -> None:
    started, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        await may_end.wait()
        ended.set()

    task = asyncio.create_task(to_the_end(work()))
    await started.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.wait([task], timeout=0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
