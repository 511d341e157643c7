"""The part of a conversation that fits into the window of a request, and the prompt of that part."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.requests import Message
from orchestrator.inference.prompts import Prompt, Prompter, fit_messages
from orchestrator.inference.reply import Overflow
from orchestrator.inference.turn import Turn


async def fitted(
    turn: Turn, prompter: Prompter, messages: Sequence[Message]
) -> tuple[Sequence[Message], Overflow | None]:
    """The messages that fit, and what was dropped to make it so; all where none may be dropped, or can."""
    if not turn.request.truncate or len(messages) < 2:
        return messages, None
    budget = turn.options.num_ctx
    fit = await fit_messages(prompter, turn.runner, messages, budget=budget, count_media=turn.counts_media)
    return fit.messages, Overflow(fit.tokens_before, budget, fit.dropped) if fit.dropped else None


async def fitted_prompt(
    turn: Turn, prompter: Prompter, messages: Sequence[Message]
) -> tuple[Prompt, Overflow | None]:
    """The prompt of the messages that fit, and what was dropped to make it so."""
    kept, overflow = await fitted(turn, prompter, messages)
    return await prompter.prompt(kept), overflow
