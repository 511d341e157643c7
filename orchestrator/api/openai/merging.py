"""Several streams as one, for the choices of a reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Came(Generic[T]):
    item: T


@dataclass(frozen=True, slots=True)
class _Ended:
    failure: Exception | None = None


async def merged(streams: Sequence[AsyncGenerator[T]], *, at_once: int) -> AsyncGenerator[T]:
    """The items of all streams as they come; no more than ``at_once`` of them are read at a time.

    Raises what the first stream raises that fails; the others are closed then, as they are when this one is.
    """
    if at_once == 1:
        for stream in streams:
            async with aclosing(stream):
                async for item in stream:
                    yield item
        return
    arrivals: asyncio.Queue[_Came[T] | _Ended] = asyncio.Queue(1)
    waiting = iter(streams)
    readers = min(at_once, len(streams))
    failure: Exception | None = None
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_read(waiting, arrivals)) for _ in range(readers)]
        try:
            while readers and failure is None:
                match await arrivals.get():
                    case _Came(item):
                        yield item
                    case _Ended(failure):
                        readers -= 1
        except GeneratorExit:
            return  # a group would make a failure of it
        finally:
            for task in tasks:
                task.cancel()
    if failure is not None:
        raise failure


async def _read(waiting: Iterator[AsyncGenerator[T]], arrivals: asyncio.Queue[_Came[T] | _Ended]) -> None:
    """Read one stream after the other, as long as there are some. A failure is handed on, not raised."""
    try:
        for stream in waiting:
            async with aclosing(stream):
                async for item in stream:
                    await arrivals.put(_Came(item))
    except Exception as error:
        await arrivals.put(_Ended(error))
    else:
        await arrivals.put(_Ended())
