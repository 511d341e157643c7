"""The last resort for a conversation that the window cannot hold: a message loses its middle.

The beginning and the end of the longest message stay, as instructions and questions stand there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.options import Options
from orchestrator.domain.requests import Message
from orchestrator.inference.prompts import Prompter
from orchestrator.runners.base import Runner

GAP = "\n[...]\n"
_SPARE = 16
"""Tokens for the gap, and for words that fall apart at its edges."""


async def shortened(
    prompter: Prompter, runner: Runner, messages: Sequence[Message], options: Options
) -> tuple[Sequence[Message], int, int]:
    """The messages, shortened to leave half the window for the answer if they do not fit into it.

    Returns them with the tokens of the whole prompt and the number of tokens taken out, which is 0 if nothing
    had to be done or could be.
    """
    total = len(await runner.tokenize(await prompter.measured_text(messages), add_special=True))
    if total < options.num_ctx or any(message.images for message in messages):
        return messages, total, 0
    keep = min(max(options.num_keep, 0), options.num_ctx - 1)
    excess = total - (options.num_ctx - max((options.num_ctx - keep) // 2, 1)) + _SPARE
    index = max(range(len(messages)), key=lambda i: len(messages[i].content))
    tokens = await runner.tokenize(messages[index].content)
    left = len(tokens) - excess
    if left < 2:
        return messages, total, 0
    head = await runner.detokenize(tokens[: left // 2])
    tail = await runner.detokenize(tokens[len(tokens) - (left - left // 2) :])
    short = replace(messages[index], content=head + GAP + tail)
    return (*messages[:index], short, *messages[index + 1 :]), total, excess
