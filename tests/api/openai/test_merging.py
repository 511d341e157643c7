"""Several streams are one: items as they come, failures of any of them, and nothing left open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from orchestrator.api.openai.merging import merged


class Stream:
    """A stream of two items, the second of which waits until it may come."""

    def __init__(self, name: str, failure: Exception | None = None) -> None:
        self.name = name
        self.failure = failure
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.is_open = False

    async def items(self) -> AsyncGenerator[str]:
        self.is_open = True
        try:
            self.begun.set()
            yield f"{self.name}1"
            await self.may_end.wait()
            if self.failure is not None:
                raise self.failure
            yield f"{self.name}2"
        finally:
            self.is_open = False


async def test_streams_are_read_at_the_same_time() -> None:
    a, b = Stream("a"), Stream("b")
    found = []
    async with aclosing(merged([a.items(), b.items()], at_once=2)) as items:
        async for item in items:
            found.append(item)
            if len(found) == 2:
                b.may_end.set()
            if item == "b2":
                a.may_end.set()
    assert sorted(found[:2]) == ["a1", "b1"]
    assert found[2:] == ["b2", "a2"]


@pytest.mark.parametrize(("at_once", "begun"), [(1, [True, False, False]), (2, [True, True, False])])
async def test_no_more_streams_are_open_than_may_be(at_once: int, begun: list[bool]) -> None:
    streams = [Stream(name) for name in "abc"]
    found = []
    async with aclosing(merged([stream.items() for stream in streams], at_once=at_once)) as items:
        async for item in items:
            found.append(item)
            if len(found) == at_once:
                assert [stream.begun.is_set() for stream in streams] == begun
                for stream in streams:
                    stream.may_end.set()
    assert sorted(found) == ["a1", "a2", "b1", "b2", "c1", "c2"]
    assert not any(stream.is_open for stream in streams)


@pytest.mark.parametrize("at_once", [1, 2])
async def test_a_failure_closes_the_others(at_once: int) -> None:
    failing, other = Stream("a", ValueError("broken")), Stream("b")
    failing.may_end.set()
    with pytest.raises(ValueError, match="broken"):
        async with aclosing(merged([failing.items(), other.items()], at_once=at_once)) as items:
            assert [item async for item in items]
    assert not other.is_open


@pytest.mark.parametrize("at_once", [1, 2])
async def test_who_leaves_early_closes_all(at_once: int) -> None:
    streams = [Stream(name) for name in "ab"]
    async with aclosing(merged([stream.items() for stream in streams], at_once=at_once)) as items:
        await anext(items)
    assert not any(stream.is_open for stream in streams)


async def test_a_cancelled_reader_closes_all() -> None:
    streams = [Stream(name) for name in "ab"]

    async def read() -> None:
        async with aclosing(merged([stream.items() for stream in streams], at_once=2)) as items:
            async for _ in items:
                pass

    task = asyncio.ensure_future(read())
    for stream in streams:
        await stream.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(stream.is_open for stream in streams)
