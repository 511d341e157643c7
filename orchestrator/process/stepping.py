"""Long synchronous work that is done step by step in threads, and stops between two steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any, TypeVar

from orchestrator.process.cleanup import to_the_end

T = TypeVar("T")

_END: Any = object()


async def stepped(steps: Iterator[T]) -> AsyncGenerator[T, None]:
    """What ``steps`` gives; each step runs in a thread, and to its end before a cancellation is raised.

    A generator is closed, in a thread too, whatever happens.
    """
    try:
        while (step := await to_the_end(asyncio.to_thread(next, steps, _END))) is not _END:
            yield step
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            await to_the_end(asyncio.to_thread(close))
