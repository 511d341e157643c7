"""Chats that the engine renders and parses by itself (``POST /v1/chat/completions``)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from orchestrator.domain.chunks import Item
from orchestrator.domain.formats import usable_format
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.errors import EngineRefused
from orchestrator.inference.prompts import NativePrompter, fit_messages
from orchestrator.inference.reply import Overflow, RenderedPrompt
from orchestrator.inference.service import wanted_logprobs
from orchestrator.inference.turn import Answer, Prepared, Turn
from orchestrator.inference.window import refuse_overlong
from orchestrator.runners.base import ChatCall

_PROMPT_TOO_LONG = "exceed_context_size_error"


async def native_chat(turn: Turn, request: ChatRequest, messages: Sequence[Message]) -> Prepared:
    """The answer to a conversation, or its prompt when only that was wanted."""
    call = ChatCall(
        messages=tuple(messages),
        options=turn.options,
        tools=request.tools,
        think=turn.think,
        format=usable_format(request.format),
        top_logprobs=wanted_logprobs(request),
        extra=turn.extra,
    )
    prompter = NativePrompter(turn.runner, call)
    measured = request.truncate and len(messages) > 1
    if measured and not prompter.surely_fits(messages, turn.options.num_ctx):
        return await _fitted(turn, prompter, messages)
    if request.debug_render_only:
        return await _shown(prompter, messages)
    if turn.narrowed and not prompter.surely_fits(messages, turn.options.num_ctx):
        await _refuse_overlong(turn, prompter, messages)
    items = turn.runner.chat(call)
    return Answer(items) if not measured else await _unless_too_long(turn, prompter, messages, items)


async def _fitted(turn: Turn, prompter: NativePrompter, messages: Sequence[Message]) -> Prepared:
    budget = turn.options.num_ctx
    fit = await fit_messages(prompter, turn.runner, messages, budget=budget, count_media=turn.counts_media)
    if turn.request.debug_render_only:
        return await _shown(prompter, fit.messages)
    overflow = Overflow(fit.tokens_before, budget, fit.dropped) if fit.dropped else None
    turn.inference.report_overflow(turn.model, overflow)
    if turn.narrowed:
        await _refuse_overlong(turn, prompter, fit.messages)
    return Answer(turn.runner.chat(prompter.call(fit.messages)), overflow)


async def _refuse_overlong(turn: Turn, prompter: NativePrompter, messages: Sequence[Message]) -> None:
    if not any(message.images for message in messages):
        prompt = await prompter.prompt(messages)
        await refuse_overlong(turn.runner, prompt.text, turn.options.num_ctx)


async def _shown(prompter: NativePrompter, messages: Sequence[Message]) -> RenderedPrompt:
    prompt = await prompter.prompt(messages)
    return RenderedPrompt(prompt.text, sum(len(message.images) for message in messages))


async def _unless_too_long(
    turn: Turn, prompter: NativePrompter, messages: Sequence[Message], items: AsyncIterator[Sequence[Item]]
) -> Prepared:
    """``items``, unless the engine refuses a prompt that was thought to fit: then it is measured and cut."""
    try:
        first = await anext(items, ())
    except EngineRefused as error:
        if _PROMPT_TOO_LONG not in str(error):
            raise
        return await _fitted(turn, _Measuring(turn.runner, prompter.call(messages)), messages)
    return Answer(_resumed(first, items))


class _Measuring(NativePrompter):
    """Takes no fit for granted."""

    def surely_fits(self, messages: Sequence[Message], budget: int) -> bool:
        return False


async def _resumed(
    first: Sequence[Item], rest: AsyncIterator[Sequence[Item]]
) -> AsyncIterator[Sequence[Item]]:
    async with aclosing(rest):  # type: ignore[type-var]
        if first:
            yield first
        async for batch in rest:
            yield batch
