"""Which messages of a conversation fit into the context window.

Messages are dropped from the front; system messages and the last message always stay. The cost of a suffix
falls as it gets shorter, so the first start that fits is found by bisection: about ten tokenizer calls for
500 messages, one for a conversation that fits. Source: ``prompts`` §3.1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from orchestrator.domain.requests import Message

Cost = Callable[[Sequence[Message]], Awaitable[int]]
"""Tokens of the prompt made of these messages, media included."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The part of a conversation that is sent."""

    messages: tuple[Message, ...]
    dropped: int
    """Messages left out, kept system messages not counted."""
    tokens_before: int
    """Tokens of the whole conversation; 0 when it was not measured."""


async def fit(messages: Sequence[Message], cost: Cost, budget: int) -> Fit:
    """The longest part of ``messages`` that costs at most ``budget`` tokens, or the shortest allowed."""
    whole = await cost(messages)
    if whole <= budget or len(messages) < 2:
        return Fit(tuple(messages), 0, whole)
    starts = _starts(messages)
    low, high = 0, len(starts) - 1  # the answer is among starts[low..high]; the last is taken untried
    while low < high:
        middle = (low + high) // 2
        if await cost(kept(messages, starts[middle])) <= budget:
            high = middle
        else:
            low = middle + 1
    chosen = kept(messages, starts[low])
    return Fit(chosen, len(messages) - len(chosen), whole)


def kept(messages: Sequence[Message], start: int) -> tuple[Message, ...]:
    """``messages`` from ``start`` on, and the system messages before it."""
    return (*(m for m in messages[:start] if m.role == "system"), *messages[start:])


def _starts(messages: Sequence[Message]) -> list[int]:
    """Where a cut may be, from the longest rest to the shortest.

    A rest that begins with a tool's result would show the model an answer to a call it cannot see, so such
    starts are passed over unless nothing else is left.
    """
    last = len(messages) - 1
    starts = [i for i in range(1, last) if messages[i].role != "tool"]
    return [*starts, last]
