"""Dropping messages until the rest fits."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.requests import Message
from orchestrator.inference.truncate import Fit, fit, kept

ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
CONVERSATIONS = st.lists(
    st.builds(Message, role=ROLES, content=st.text("x", max_size=9)), min_size=1, max_size=30
)


def size(messages: Sequence[Message]) -> int:
    return sum(1 + len(message.content) for message in messages)


class Counter:
    """A cost that remembers how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, messages: Sequence[Message]) -> int:
        self.asked += 1
        return size(messages)


def by_trying_every_start(messages: Sequence[Message], budget: int) -> tuple[Message, ...]:
    last = len(messages) - 1
    for start in range(last):
        rest = kept(messages, start)
        if size(rest) <= budget and (start == 0 or messages[start].role != "tool"):
            return rest
    return kept(messages, last)


@given(CONVERSATIONS, st.integers(0, 120))
async def test_the_longest_rest_that_fits_is_found(messages: list[Message], budget: int) -> None:
    found = await fit(messages, Counter(), budget)
    assert found.messages == by_trying_every_start(messages, budget)
    assert found.dropped == len(messages) - len(found.messages)


async def test_a_conversation_that_fits_is_measured_once() -> None:
    cost = Counter()
    messages = [Message("user", "hello"), Message("assistant", "hi"), Message("user", "bye")]
    assert await fit(messages, cost, 1000) == Fit(tuple(messages), 0, size(messages))
    assert cost.asked == 1


async def test_five_hundred_messages_take_about_ten_measurements() -> None:
    cost = Counter()
    messages = [Message("user" if i % 2 == 0 else "assistant", "word " * 20) for i in range(500)]
    found = await fit(messages, cost, size(messages) // 3)
    assert 0 < len(found.messages) < 500
    assert cost.asked <= 11


async def test_system_messages_and_the_last_message_stay_though_they_do_not_fit() -> None:
    messages = [
        Message("system", "s"),
        Message("user", "a"),
        Message("system", "t"),
        Message("user", "b" * 99),
    ]
    found = await fit(messages, Counter(), 5)
    assert [m.content[0] for m in found.messages] == ["s", "t", "b"]
    assert found.dropped == 1


async def test_a_rest_does_not_begin_with_the_answer_to_a_dropped_call() -> None:
    messages = [
        Message("user", "x" * 50),
        Message("assistant", "x" * 50),
        Message("tool", "xx"),
        Message("assistant", "yes"),
        Message("user", "next"),
    ]
    found = await fit(messages, Counter(), 20)
    assert found.messages[0].content == "yes"
