"""Prompts made, measured and cut."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.domain.loads import ModelFacts
from orchestrator.domain.options import Options
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.inference.errors import PromptTooLong
from orchestrator.inference.prompts import NativePrompter, RenderedPrompter, cut_prompt, fit_messages
from orchestrator.renderers import registry as renderers
from orchestrator.renderers.base import Renderer
from orchestrator.runners.base import ChatCall
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.known import known
from tests.golden_records import Record, cases
from tests.inference.byte_runner import ByteRunner
from tests.prompt_records import PROMPTS, conversation


@pytest.fixture
def source(record: Record) -> Renderer | GoTemplate:
    """What makes the prompts of a record."""
    if "renderer" in record:
        return renderers.make(record["renderer"])
    name = record["template"]
    own = PROMPTS / "templates" / f"{name}.gotmpl"
    return GoTemplate.parse(own.read_text() if own.exists() else known(name).text)


@pytest.mark.parametrize("record", cases("prompts/truncate.jsonl"))
async def test_conversations_are_cut_as_recorded(record: Record, source: Renderer | GoTemplate) -> None:
    messages, tools, think = conversation(record)
    prompter = RenderedPrompter(source, tools or (), think)
    runner = ByteRunner()
    kept: Sequence[Message] = messages
    if record["truncate"]:
        found = await fit_messages(
            prompter, runner, messages, budget=record["num_ctx"], count_media=record["projector"]
        )
        kept = found.messages
    prompt = await prompter.prompt(kept)
    assert prompt.text == record["prompt"]
    assert len(prompt.media) == record["media"]
    assert len(runner.tokenized) <= record["token_counts"]


async def test_a_prompt_shorter_than_the_window_is_never_measured() -> None:
    runner = ByteRunner()
    assert await cut_prompt(runner, "x" * 63, "", Options(num_ctx=64), ModelFacts(), shift=False) == (
        "x" * 63,
        0,
        0,
    )
    assert runner.tokenized == []


async def test_the_middle_of_a_long_prompt_is_left_out() -> None:
    prompt = "".join(chr(ord("a") + i % 26) for i in range(100))
    cut, before, dropped = await cut_prompt(
        ByteRunner(), prompt, "", Options(num_ctx=64, num_keep=4), ModelFacts(), shift=True
    )
    limit = 64 - (64 - 4) // 2
    assert before == 101  # the tokenizer puts its own in front
    assert dropped == 101 - limit
    tokens = [256, *prompt.encode()]
    assert cut == (*tokens[:4], *tokens[-(limit - 4) :])


async def test_a_long_prompt_is_refused_where_the_window_cannot_shift() -> None:
    with pytest.raises(PromptTooLong):
        await cut_prompt(ByteRunner(), "x" * 100, "", Options(num_ctx=64), ModelFacts(), shift=False)


async def test_the_bos_of_a_renderer_is_not_measured_twice() -> None:
    runner = ByteRunner()
    facts = ModelFacts(add_bos=True)
    await cut_prompt(runner, "<s>" + "x" * 100, "<s>", Options(num_ctx=64), facts, shift=True)
    assert runner.tokenized == ["x" * 100]


@pytest.mark.parametrize(("size", "fits"), [(10, True), (5000, False)])
def test_a_short_chat_surely_fits_and_a_long_one_may_not(size: int, fits: bool) -> None:
    prompter = NativePrompter(ByteRunner(), ChatCall(messages=(), options=Options(), think=Think(True)))
    assert prompter.surely_fits([Message("user", "x" * size)], 4096) is fits
