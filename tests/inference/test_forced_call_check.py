"""Answers that have to be calls: those that are none say so at their end."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason, Item, ToolCall
from orchestrator.inference.forced_call_check import NO_CALL, told_if_unmet

DONE = Done(DoneReason.STOP)


def call(name: str) -> Chunk:
    return Chunk(tool_calls=(ToolCall(name, {}),))


async def told(*batches: Sequence[Item]) -> tuple[str, ...]:
    """The warnings at the end; all else stays as it is."""

    async def items() -> Batches:
        for batch in batches:
            yield batch

    found = [item async for batch in told_if_unmet(items(), {"find"}) for item in batch]
    *others, done = found
    assert others == [item for batch in batches for item in batch][:-1]
    assert isinstance(done, Done)
    return done.warnings


async def test_a_call_of_an_allowed_tool_is_what_was_wanted() -> None:
    assert await told([call("find"), DONE]) == ()
    assert await told([Chunk("so")], [call("find")], [DONE]) == ()


async def test_an_answer_without_a_call_says_so() -> None:
    assert await told([Chunk("No.")], [DONE]) == (NO_CALL,)
    assert await told([DONE]) == (NO_CALL,)


async def test_a_call_of_another_tool_is_told_once() -> None:
    unmet = 'tool_choice was not met: "look" was called'
    assert await told([call("look"), call("find")], [call("look"), DONE]) == (unmet,)


async def test_other_warnings_stay() -> None:
    assert await told([Done(DoneReason.STOP, warnings=("careful",))]) == ("careful", NO_CALL)
