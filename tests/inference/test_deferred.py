"""Structured output after a thought."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.domain.chunks import Chunk, Done, DoneReason
from orchestrator.domain.formats import JsonFormat
from orchestrator.domain.options import Options
from orchestrator.domain.think import Think
from orchestrator.inference.deferred import think_then_constrain
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser
from orchestrator.runners.base import CompletionCall
from tests.inference.byte_runner import END, ByteRunner, gathered

CALL = CompletionCall(prompt="<user>x<assistant>", options=Options(), format=JsonFormat())
ANSWER: list[str | Done] = ["{", "}", END]


def thinking() -> Parser:
    parser = generic_parser(
        thinking_tags=("<think>", "</think>"), tool_tag=None, prompt_ends_in_thought=False
    )
    parser.start((), None, Think(True))
    return parser


# case B055
@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>deep", " thought", "</think>", "\n\nHi", " there", END],
        ["<think>deep thought</think>\n\nHi there", END],
        [*"<think>deep thought</think>\n\nHi there", END],
    ],
)
async def test_the_constraint_begins_where_the_answer_does(pieces: Sequence[str | Done]) -> None:
    runner = ByteRunner(pieces, ANSWER)
    items = await gathered(think_then_constrain(runner, CALL, thinking()))
    chunks = [item for item in items if isinstance(item, Chunk)]
    assert "".join(chunk.thinking for chunk in chunks) == "deep thought"
    assert "".join(chunk.content for chunk in chunks) == "{}"
    free, constrained = runner.calls
    assert free.format is None
    assert constrained.format == JsonFormat()
    assert constrained.prompt == "<user>x<assistant><think>deep thought</think>\n\n"
    assert runner.closed == 2


async def test_a_model_that_does_not_think_is_constrained_from_its_first_word() -> None:
    runner = ByteRunner(["plain", " text", END], ANSWER)
    items = await gathered(think_then_constrain(runner, CALL, thinking()))
    assert [item for item in items if isinstance(item, Chunk)] == [Chunk("{"), Chunk("}")]
    assert runner.calls[1].prompt == CALL.prompt


async def test_a_thought_without_an_answer_gets_one() -> None:
    runner = ByteRunner(["<think>deep</think>", END], ANSWER)
    items = await gathered(think_then_constrain(runner, CALL, thinking()))
    assert "".join(item.content for item in items if isinstance(item, Chunk)) == "{}"
    assert items.count(END) == 1


async def test_a_thought_that_uses_up_the_budget_is_the_whole_reply() -> None:
    spent = Done(DoneReason.LENGTH)
    runner = ByteRunner(["<think>deep", spent])
    assert await gathered(think_then_constrain(runner, CALL, thinking())) == [
        Chunk(thinking="deep"),
        spent,
    ]
    assert len(runner.calls) == 1


async def test_a_prompt_of_tokens_goes_on_in_tokens() -> None:
    runner = ByteRunner(["<think>a</think>", "b"], ANSWER)
    call = CompletionCall(prompt=(1, 2), options=Options(), format=JsonFormat())
    await gathered(think_then_constrain(runner, call, thinking()))
    assert runner.calls[1].prompt == (1, 2, *b"<think>a</think>")
