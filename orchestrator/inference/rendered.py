"""Prompts that the daemon renders and output that it parses (``POST /completion``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.formats import usable_format
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.tools import Tool
from orchestrator.inference.output import split
from orchestrator.inference.prompts import Prompt, RenderedPrompter, cut_prompt, fit_messages
from orchestrator.inference.reply import Overflow, RenderedPrompt
from orchestrator.inference.service import wanted_logprobs
from orchestrator.inference.turn import Answer, Prepared, Turn
from orchestrator.inference.window import refuse_overlong
from orchestrator.parsers import registry as parsers
from orchestrator.runners.base import CompletionCall


async def rendered_chat(turn: Turn, request: ChatRequest, messages: Sequence[Message]) -> Prepared:
    """The answer to a conversation, or its prompt when only that was wanted."""
    parser = parsers.make(turn.path.parser_name)
    tools = request.tools
    if parser is not None:
        tools = parser.start(tools, messages[-1], turn.think)
    prompt, overflow = await fitted_prompt(turn, messages, tools)
    if request.debug_render_only:
        return RenderedPrompt(prompt.text, len(prompt.media))
    answer = await completion(turn, prompt, overflow, parser.preserved_tokens if parser else ())
    return replace(answer, items=split(answer.items, parser))


async def fitted_prompt(
    turn: Turn, messages: Sequence[Message], tools: Sequence[Tool]
) -> tuple[Prompt, Overflow | None]:
    """The prompt of the messages that fit, and what was dropped to make it so."""
    prompter = RenderedPrompter(turn.path.source(), tools, turn.think)
    if not turn.request.truncate:
        return await prompter.prompt(messages), None
    budget = turn.options.num_ctx
    fit = await fit_messages(prompter, turn.runner, messages, budget=budget, count_media=turn.counts_media)
    overflow = Overflow(fit.tokens_before, budget, fit.dropped) if fit.dropped else None
    return await prompter.prompt(fit.messages), overflow


async def completion(
    turn: Turn, prompt: Prompt, overflow: Overflow | None, preserved_tokens: tuple[str, ...] = ()
) -> Answer:
    """Send a prompt, cut to the window if it has to be; what comes back is the engine's raw text."""
    request, options = turn.request, turn.options
    text: str | tuple[int, ...] = prompt.text
    if request.truncate and not prompt.media:
        text, tokens, dropped = await cut_prompt(
            turn.runner,
            prompt.text,
            turn.path.leading_bos,
            options,
            turn.model.files.facts,
            shift=turn.shift,
        )
        if dropped:
            overflow = replace(overflow or Overflow(tokens, options.num_ctx), tokens_dropped=dropped)
    elif turn.narrowed and not prompt.media:
        await refuse_overlong(turn.runner, prompt.text, options.num_ctx)
    turn.inference.report_overflow(turn.model, overflow)
    call = CompletionCall(
        prompt=text,
        options=options,
        format=usable_format(request.format),
        top_logprobs=wanted_logprobs(request),
        preserved_tokens=preserved_tokens,
        media=prompt.media,
        leading_bos=turn.path.leading_bos,
    )
    return Answer(turn.runner.complete(call), overflow)
