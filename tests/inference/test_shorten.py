"""Messages that lose their middle."""

from __future__ import annotations

import pytest

from orchestrator.domain.options import Options
from orchestrator.domain.requests import Message
from orchestrator.inference.prompts import NativePrompter
from orchestrator.inference.shorten import GAP, shortened
from orchestrator.runners.base import ChatCall
from tests.inference.byte_runner import ByteRunner

OPTIONS = Options(num_ctx=512)


def prompter(runner: ByteRunner) -> NativePrompter:
    return NativePrompter(runner, ChatCall(messages=(), options=OPTIONS))


# case B001
async def test_the_beginning_and_the_end_of_a_long_message_stay() -> None:
    runner = ByteRunner()
    text = "The locker code is PLUM-4471. " + "filler " * 300 + "What is the locker code?"
    messages = [Message("system", "brief"), Message("user", text)]
    short, total, cut = await shortened(prompter(runner), runner, messages, OPTIONS)
    assert short[0] == messages[0]
    content = short[1].content
    assert content.startswith("The locker code is PLUM-4471.")
    assert content.endswith("What is the locker code?")
    assert GAP in content
    left = len(await runner.tokenize(await prompter(runner).measured_text(short)))
    assert left <= 512 - (512 - 4) // 2
    assert total > 2000
    assert total - left <= cut


async def test_a_conversation_that_fits_stays_as_it_is() -> None:
    runner = ByteRunner()
    messages = [Message("user", "hi")]
    assert (await shortened(prompter(runner), runner, messages, OPTIONS))[::2] == (messages, 0)


@pytest.mark.parametrize(
    "messages",
    [
        [Message("user", "x" * 600, images=(b"picture",))],
        [Message("user", "x" * 40)] * 20,
    ],
)
async def test_what_cannot_be_shortened_is_not(messages: list[Message]) -> None:
    runner = ByteRunner()
    short, total, cut = await shortened(prompter(runner), runner, messages, OPTIONS)
    assert (short, cut) == (messages, 0)
    assert total > 512
