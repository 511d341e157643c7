"""Chats that the engine renders and parses by itself (``POST /v1/chat/completions``).

A chat that is too long loses whole messages first. If the last message alone is too long for the window, the
engine refuses it, and text is taken out of the middle of that message: the same policy as for prompts that
are rendered here, and told of in the same way (cases B001, B002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.domain.chunks import Batches, Item
from orchestrator.domain.formats import OutputFormat, usable_format
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.tool_choice import ToolChoice
from orchestrator.errors import EngineRefused
from orchestrator.inference.fitting import fitted
from orchestrator.inference.prompts import NativePrompter
from orchestrator.inference.reply import Overflow, RenderedPrompt
from orchestrator.inference.service import wanted_logprobs
from orchestrator.inference.shorten import shortened
from orchestrator.inference.strict import in_accepted_form
from orchestrator.inference.turn import Answer, Prepared, Turn
from orchestrator.inference.window import refuse_overlong
from orchestrator.runners.base import ChatCall

_PROMPT_TOO_LONG = "exceed_context_size_error"
_TELLING_STOPS = {"verbose": True, "response_fields": ["stop_type", "stopping_word"]}
"""What makes the engine tell in the last frame what ended the answer."""


async def native_chat(turn: Turn, request: ChatRequest, messages: Sequence[Message]) -> Prepared:
    """The answer to a conversation, or its prompt when only that was wanted."""
    call = ChatCall(
        messages=tuple(messages),
        options=turn.options,
        tools=request.tool_choice.callable_tools(request.tools),
        think=turn.think,
        format=_constraint(request),
        top_logprobs=wanted_logprobs(request),
        extra={
            **turn.extra,
            **_forced(request.tool_choice),
            **(_TELLING_STOPS if request.names_stop else {}),
        },
    )
    attempt = _Chat(turn, NativePrompter(turn.runner, call))
    prepared, warnings = await in_accepted_form(messages, attempt.prepared)
    return replace(prepared, warnings=warnings) if isinstance(prepared, Answer) else prepared


def _constraint(request: ChatRequest) -> OutputFormat | None:
    """The format that holds for the answer; none where a tool is called, or nothing is generated at all."""
    if request.tool_choice.is_forced or request.debug_render_only:
        return None
    return usable_format(request.format)


def _forced(choice: ToolChoice) -> Mapping[str, Any]:
    """What makes the engine call a tool, where there has to be a call."""
    if not choice.is_forced:
        return {}
    return {"tool_choice": "required", "parallel_tool_calls": choice.allows_several}


@dataclass(frozen=True, slots=True)
class _Chat:
    """One way to answer a request, for conversations of different lengths and forms."""

    turn: Turn
    prompter: NativePrompter

    async def prepared(self, messages: Sequence[Message]) -> Prepared:
        """The answer to as much of the conversation as fits; the engine has accepted it."""
        if self.turn.request.debug_render_only:
            return await self._shown(messages)
        if not self.turn.request.truncate:
            return await self._opened(messages)
        kept, overflow = await fitted(self.turn, self.prompter, messages)
        try:
            return await self._opened(kept, overflow)
        except EngineRefused as error:
            if not _is_too_long(error) or not self.turn.shift:
                raise
            return await self._shortened(kept, overflow, error)

    async def _shown(self, messages: Sequence[Message]) -> RenderedPrompt:
        messages, _ = await fitted(self.turn, self.prompter, messages)
        prompt = await self.prompter.prompt(messages)
        return RenderedPrompt(prompt.text, sum(len(message.images) for message in messages))

    async def _shortened(
        self, messages: Sequence[Message], overflow: Overflow | None, refusal: EngineRefused
    ) -> Prepared:
        """The answer to a conversation that the engine finds too long. Raises ``refusal`` if it is not."""
        turn = self.turn
        measuring = _Measuring(turn.runner, self.prompter.call(messages))
        kept, dropped = await fitted(turn, measuring, messages)
        short, total, cut = await shortened(self.prompter, turn.runner, kept, turn.options)
        if dropped is None and not cut:
            raise refusal
        overflow = overflow or dropped or Overflow(total, turn.options.num_ctx)
        return await self._opened(short, replace(overflow, tokens_dropped=cut))

    async def _opened(self, messages: Sequence[Message], overflow: Overflow | None = None) -> Answer:
        """The answer to just these messages, begun: what the engine refuses is raised here."""
        turn, prompter = self.turn, self.prompter
        turn.inference.report_overflow(turn.model, overflow)
        if turn.narrowed and not prompter.surely_fits(messages, turn.options.num_ctx):
            await self._refuse_overlong(messages)
        items = turn.runner.chat(prompter.call(messages))
        first = await anext(items, None) or ()
        return Answer(_resumed(first, items), overflow)

    async def _refuse_overlong(self, messages: Sequence[Message]) -> None:
        if not any(message.images for message in messages):
            prompt = await self.prompter.prompt(messages)
            await refuse_overlong(self.turn.runner, prompt.text, self.turn.options.num_ctx)


class _Measuring(NativePrompter):
    """Takes no fit for granted."""

    def surely_fits(self, messages: Sequence[Message], budget: int) -> bool:
        return False


def _is_too_long(error: EngineRefused) -> bool:
    return _PROMPT_TOO_LONG in str(error)


async def _resumed(first: Sequence[Item], rest: Batches) -> Batches:
    async with aclosing(rest):
        if first:
            yield first
        async for batch in rest:
            yield batch
