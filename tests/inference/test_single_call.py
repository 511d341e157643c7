"""Replies with one call at most."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason, Item, ToolCall
from orchestrator.inference.single_call import single_call

FIRST, SECOND, THIRD = (ToolCall(name, {}, index) for index, name in enumerate("abc"))
DONE = Done(DoneReason.STOP)


async def kept(*batches: Sequence[Item]) -> list[Sequence[Item]]:
    async def items() -> Batches:
        for batch in batches:
            yield batch

    return [batch async for batch in single_call(items())]


async def test_the_first_call_is_the_only_one() -> None:
    together: list[Item] = [Chunk("x"), Chunk(tool_calls=(FIRST, SECOND)), DONE]
    assert await kept(together) == [[Chunk("x"), Chunk(tool_calls=(FIRST,)), DONE]]
    first: list[Item] = [Chunk(tool_calls=(FIRST,))]
    second: list[Item] = [Chunk(tool_calls=(SECOND,))]
    last: list[Item] = [Chunk("y", tool_calls=(THIRD,)), DONE]
    assert await kept(first, second, last) == [first, [Chunk("y"), DONE]]


async def test_a_reply_without_calls_stays_as_it_is() -> None:
    assert await kept([Chunk("x"), Chunk()], [DONE]) == [[Chunk("x"), Chunk()], [DONE]]
