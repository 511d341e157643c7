"""Conversations in the forms that strict templates take."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.errors import EngineRefused
from orchestrator.inference.strict import MARK, WARNING, in_accepted_form, strict, stricter_forms

MIXED = [
    Message("system", "brief"),
    Message("user", "hi"),
    Message("assistant", "yo"),
    Message("system", "in French"),
    Message("user", "and now?"),
]
REFUSAL = EngineRefused('{"error":{"message":"Jinja Exception: System message must be first"}}', status=500)


def shown(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


# case B064
def test_a_later_system_message_becomes_marked_text_of_the_next_user_turn() -> None:
    assert shown(list(strict(MIXED, keeps_system=True))) == [
        ("system", "brief"),
        ("user", "hi"),
        ("assistant", "yo"),
        ("user", f"{MARK}in French\n\nand now?"),
    ]
    assert shown(list(strict(MIXED, keeps_system=False)))[0] == ("user", f"{MARK}brief\n\nhi")


def test_a_system_message_at_the_end_joins_the_user_turn_before_it() -> None:
    messages = [Message("user", "hi"), Message("system", "in French")]
    assert shown(list(strict(messages, keeps_system=True))) == [("user", f"hi\n\n{MARK}in French")]


def test_nothing_comes_between_calls_and_their_results() -> None:
    calls = Message("assistant", tool_calls=(ToolCall("f", {}),))
    messages = [
        Message("user", "hi"),
        calls,
        Message("system", "hurry"),
        Message("tool", "1"),
        Message("tool", "2"),
    ]
    assert shown(list(strict(messages, keeps_system=True))) == [
        ("user", "hi"),
        ("assistant", ""),
        ("tool", "1"),
        ("tool", "2"),
        ("user", f"{MARK}hurry"),
    ]


def test_a_conversation_in_turns_has_no_stricter_form() -> None:
    assert not list(
        stricter_forms([Message("user", "hi"), Message("assistant", "yo"), Message("user", "so?")])
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.text(min_size=1, max_size=3))
    )
)
def test_no_text_is_lost_and_turns_alternate(said: list[tuple[str, str]]) -> None:
    messages = [Message(role, content) for role, content in said]
    for keeps_system in (True, False):
        form = list(strict(messages, keeps_system=keeps_system))
        text = "".join(message.content for message in form).replace(MARK, "")
        assert sorted(text.replace("\n\n", "")) == sorted("".join(c for _, c in said).replace("\n\n", ""))
        assert all(message.role != "system" for message in form[keeps_system:])
        assert all(a.role != b.role or a.role == "tool" for a, b in zip(form, form[1:], strict=False))


class Template:
    """Takes only conversations that ``accepts`` says yes to."""

    def __init__(self, most_system: int, refusal: EngineRefused = REFUSAL) -> None:
        self.tries: list[Sequence[Message]] = []
        self._most_system = most_system
        self._refusal = refusal

    async def attempt(self, messages: Sequence[Message]) -> str:
        self.tries.append(messages)
        if sum(message.role == "system" for message in messages) > self._most_system:
            raise self._refusal
        return "ok"


@pytest.mark.parametrize(
    ("most_system", "tries", "warnings"), [(2, 1, ()), (1, 2, (WARNING,)), (0, 3, (WARNING,))]
)
async def test_the_first_form_that_is_accepted_counts(
    most_system: int, tries: int, warnings: tuple[str, ...]
) -> None:
    template = Template(most_system)
    assert await in_accepted_form(MIXED, template.attempt) == ("ok", warnings)
    assert len(template.tries) == tries


async def test_a_conversation_that_is_never_accepted_is_the_clients_fault() -> None:
    with pytest.raises(EngineRefused, match="must be first") as refused:
        await in_accepted_form(MIXED, Template(-1).attempt)
    assert refused.value.status == 400


async def test_other_refusals_are_passed_on_at_once() -> None:
    template = Template(-1, EngineRefused("out of memory", status=500))
    with pytest.raises(EngineRefused, match="out of memory") as refused:
        await in_accepted_form(MIXED, template.attempt)
    assert refused.value.status == 500
    assert len(template.tries) == 1
