"""Continuing a conversation. Source: ``api-native`` §9.3, ``prompts`` §1.5."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from orchestrator.domain.chunks import DoneReason
from orchestrator.domain.quoting import quoted
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import resolved_tool
from orchestrator.inference.attachments import readable_messages, refuse_unheard, refuse_unknown
from orchestrator.inference.enforcement import format_warnings
from orchestrator.inference.errors import MissingCapability, ModelRequired, TooManyImagesInChat
from orchestrator.inference.forced_call_check import told_if_unmet
from orchestrator.inference.messages import chat_messages
from orchestrator.inference.native import native_chat
from orchestrator.inference.path import choose_path
from orchestrator.inference.prepare import load_spec, option_remarks, settled_think
from orchestrator.inference.rendered import rendered_chat
from orchestrator.inference.reply import Generation, RenderedPrompt, Reply, Residency
from orchestrator.inference.service import Inference, check_top_logprobs, refuse_replaced
from orchestrator.inference.single_call import single_call
from orchestrator.inference.turn import Prepared, Turn
from orchestrator.scheduler.lease import Lease
from orchestrator.store.model import Model
from orchestrator.templates.image_tags import TooManyImages, check_image_counts


@asynccontextmanager
async def chat(inference: Inference, request: ChatRequest) -> AsyncIterator[Reply]:
    """Answer ``request``. The runner is held until the context is left; leaving early stops the engine."""
    started_ns = time.perf_counter_ns()
    check_top_logprobs(request)
    if not request.model.strip():
        raise ModelRequired
    model = await inference.open(request.model)
    if not request.messages and request.keep_alive is not None and request.keep_alive.is_zero:
        inference.scheduler.unload(model.files.key)
        yield Residency(DoneReason.UNLOAD)
        return
    async with turn_of(inference, request, model) as (turn, request, lease):
        load_duration_ns = time.perf_counter_ns() - started_ns
        if not request.messages:
            yield Residency(DoneReason.LOAD, turn.warnings)
            return
        prepared = await prepared_answer(turn, request)
        if isinstance(prepared, RenderedPrompt):
            yield prepared
            return
        warnings = await format_warnings(request.format, rendered=turn.path.rendered)
        items = inference.watched(prepared.items, lease)
        if request.tool_choice.is_forced:
            allowed = request.tool_choice.callable_tools(request.tools)
            items = told_if_unmet(items, {tool.function.name for tool in allowed})
        if not request.tool_choice.parallel:
            items = single_call(items)
        async with aclosing(items):
            yield Generation(
                items,
                started_ns,
                load_duration_ns,
                prepared.overflow,
                (*turn.warnings, *prepared.warnings, *warnings),
            )


@asynccontextmanager
async def turn_of(
    inference: Inference, request: ChatRequest, model: Model
) -> AsyncIterator[tuple[Turn, ChatRequest, Lease]]:
    """``request`` as it is understood, with a runner that is held until the context is left."""
    inference.refuse_stub(model)
    path = choose_path(model, inference.go_template)
    request = _with_chosen_tools(request)
    think = _checked(model, request)
    if request.tools:
        request = replace(request, tools=tuple(map(resolved_tool, request.tools)))
    spec = load_spec(model, request.options, inference.defaults, shift=request.shift, rendered=path.rendered)
    told = option_remarks(spec, request.options, completes=path.rendered)
    async with inference.scheduler.lease(spec, request.keep_alive) as lease:
        turn = Turn.of(inference, request, model, path, think, spec=spec, lease=lease, warnings=told)
        yield turn, request, lease


async def prepared_answer(turn: Turn, request: ChatRequest) -> Prepared:
    """The answer that is about to start, or its prompt when only that was wanted."""
    messages = await readable_messages(chat_messages(turn.model, request))
    _check_images(turn.model, messages)
    return await (rendered_chat if turn.path.rendered else native_chat)(turn, request, messages)


def _with_chosen_tools(request: ChatRequest) -> ChatRequest:
    """``request``, without tools if none may be called. Raises ``InvalidToolChoice``."""
    may_be_called = request.tool_choice.callable_tools(request.tools)
    return request if may_be_called or not request.tools else replace(request, tools=())


def _checked(model: Model, request: ChatRequest) -> Think | None:
    """The think setting in force. Raises ``MissingCapability`` for what the model cannot do."""
    capabilities = model.files.capabilities
    think = settled_think(model, request)
    refuse_replaced(model)
    if "completion" not in capabilities:
        raise MissingCapability(f"{quoted(request.model)} does not support chat")
    if request.tools and "tools" not in capabilities:
        raise MissingCapability(f"{model.name.full} does not support tools")
    refuse_unheard(request.messages, model)
    refuse_unknown((data for message in request.messages for data in message.images), model)
    return think


def _check_images(model: Model, messages: Sequence[Message]) -> None:
    try:
        check_image_counts(messages, model.files.families)
    except TooManyImages as error:
        raise TooManyImagesInChat(str(error)) from error
