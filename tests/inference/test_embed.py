"""How texts are cut to what a model can read."""

from __future__ import annotations

import pytest

from orchestrator.domain.loads import ModelFacts
from orchestrator.errors import EngineRefused, OrchestratorError, UnreadableAnswer
from orchestrator.inference.embed import InputCannotBeCut, InputTooLong, NothingLeftOfInput, TextReader
from orchestrator.runners.base import Embedding
from tests.inference.byte_runner import ByteRunner

FACTS = ModelFacts(trained_context=64, add_bos_given=False, add_eos_given=False)


class Narrow(ByteRunner):
    """Refuses texts of more than so many tokens."""

    def __init__(self, most: int, refusal: OrchestratorError | None = None) -> None:
        super().__init__()
        self.most = most
        self.refusal = refusal or EngineRefused("the input length exceeds the context length", status=400)
        self.texts: list[str] = []

    async def embed(self, text: str) -> Embedding:
        self.texts.append(text)
        if len(text) > self.most:
            raise self.refusal
        return await super().embed(text)


def reader(
    runner: Narrow,
    *,
    facts: ModelFacts = FACTS,
    num_ctx: int = 64,
    num_batch: int = 64,
    truncate: bool = True,
) -> TextReader:
    return TextReader(runner, facts, num_ctx=num_ctx, num_batch=num_batch, truncate=truncate)


@pytest.mark.parametrize(
    ("facts", "read"),
    [
        (FACTS, 32),
        (ModelFacts(add_bos_given=True, add_eos_given=False), 31),
        (ModelFacts(), 30),
        (ModelFacts(bos_id=ord("a"), eos_id=ord("z")), 31),  # the text begins with a BOS of its own
        (ModelFacts(trained_context=16, add_bos_given=False, add_eos_given=False), 16),
    ],
)
async def test_a_long_text_loses_its_end_and_leaves_room_for_special_tokens(
    facts: ModelFacts, read: int
) -> None:
    runner = Narrow(100)
    assert await reader(runner, facts=facts, num_ctx=32).read("a" * 40) == (Embedding((1.0,), read), True)


async def test_a_text_that_fits_is_read_whole() -> None:
    assert await reader(Narrow(100), num_ctx=40).read("a" * 40) == (Embedding((1.0,), 40), False)


async def test_what_the_engine_refuses_is_cut_to_a_batch_and_tried_once_more() -> None:
    runner = Narrow(8)
    assert await reader(runner, num_batch=8).read("a" * 40) == (Embedding((1.0,), 8), True)
    assert [len(text) for text in runner.texts] == [40, 8]


@pytest.mark.parametrize(("length", "sent"), [(40, 40), (100, 64)])
async def test_a_text_that_a_batch_holds_is_not_sent_again_unchanged(length: int, sent: int) -> None:
    runner = Narrow(8)
    with pytest.raises(InputCannotBeCut):
        await reader(runner).read("a" * length)
    assert [len(text) for text in runner.texts] == [sent]


async def test_the_second_refusal_is_the_engines() -> None:
    runner = Narrow(4)
    with pytest.raises(EngineRefused):
        await reader(runner, num_batch=8).read("a" * 40)
    assert [len(text) for text in runner.texts] == [40, 8]


@pytest.mark.parametrize(
    "refusal", [EngineRefused("busy", status=503), UnreadableAnswer("empty embedding response")]
)
async def test_other_failures_are_not_tried_again(refusal: OrchestratorError) -> None:
    runner = Narrow(8, refusal)
    with pytest.raises(EngineRefused):
        await reader(runner, num_batch=8).read("a" * 40)
    assert len(runner.texts) == 1


async def test_without_leave_to_cut_nothing_is_cut() -> None:
    runner = Narrow(8)
    with pytest.raises(InputTooLong):
        await reader(runner, num_ctx=32, truncate=False).read("a" * 40)
    with pytest.raises(EngineRefused):
        await reader(runner, num_batch=8, truncate=False).read("a" * 40)
    assert [len(text) for text in runner.texts] == [40]


@pytest.mark.parametrize("truncate", [True, False])
async def test_a_window_of_special_tokens_alone_holds_no_text(truncate: bool) -> None:
    with pytest.raises(NothingLeftOfInput):
        await reader(Narrow(8), facts=ModelFacts(), num_ctx=2, truncate=truncate).read("a" * 40)
