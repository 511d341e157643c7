"""Whether an answer that has to be a call of a tool is one.

A grammar makes it so where there is one; it cannot keep a model from using up its budget before the call is
whole, and some families' output is not searched for calls at all. Nobody shall have to guess.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import aclosing
from dataclasses import replace

from orchestrator.domain.chunks import Batches, Chunk, Done

NO_CALL = "tool_choice was not met: no tool was called"


async def told_if_unmet(items: Batches, allowed: Collection[str]) -> Batches:
    """``items``; the end has a warning if none of the ``allowed`` tools was called, or another one was."""
    called: list[str] = []
    async with aclosing(items):
        async for batch in items:
            called += [call.name for item in batch if isinstance(item, Chunk) for call in item.tool_calls]
            *others, last = batch
            if isinstance(last, Done) and (warnings := _warnings(called, allowed)):
                yield [*others, replace(last, warnings=(*last.warnings, *warnings))]
            else:
                yield batch


def _warnings(called: Sequence[str], allowed: Collection[str]) -> tuple[str, ...]:
    if not called:
        return (NO_CALL,)
    wrong = dict.fromkeys(name for name in called if name not in allowed)
    return tuple(f'tool_choice was not met: "{name}" was called' for name in wrong)
