"""``/api/generate`` and ``/api/chat``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.errors import NATIVE, native_line
from orchestrator.api.native.convert import to_chat, to_generate, wants_stream
from orchestrator.api.native.records import (
    ChatShape,
    GenerateShape,
    Records,
    Shape,
    debug_record,
    residency_record,
)
from orchestrator.api.replies import JSON, NDJSON, PLAIN_JSON
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.streams import gathered, stream_records
from orchestrator.domain.formats import InvalidFormat
from orchestrator.errors import EngineRefused, RunnerFailed
from orchestrator.inference.chat import chat
from orchestrator.inference.errors import ContextOverflow, PromptTooLong
from orchestrator.inference.generate import generate
from orchestrator.inference.reply import Generation, RenderedPrompt, Reply, Residency
from orchestrator.wire import native as wire

CHAT = ChatShape()
GENERATE = GenerateShape()

_WHILE_GENERATING = (EngineRefused, RunnerFailed, PromptTooLong, ContextOverflow, InvalidFormat)
"""Errors of a generation: in place of a stream they go out as the stream would have, without a charset."""


def routes(state: AppState) -> Iterable[Route]:
    """The routes that generate text."""

    async def post_chat(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.ChatRequest)
        reply = chat(state.inference, to_chat(body))
        return await _answered(
            request, reply, CHAT, body.model, wants_stream(body) and not body.debug_render_only
        )

    async def post_generate(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.GenerateRequest)
        reply = generate(state.inference, to_generate(body))
        return await _answered(
            request, reply, GENERATE, body.model, wants_stream(body) and not body.debug_render_only
        )

    return (Route("POST", "/api/chat", post_chat), Route("POST", "/api/generate", post_generate))


def _streams(body: wire.ChatRequest | wire.GenerateRequest) -> bool:
    """Whether the reply is a stream; a prompt that is only shown never is."""
    return wants_stream(body) and not body.debug_render_only


async def _answered(
    request: web.Request,
    opening: AbstractAsyncContextManager[Reply],
    shape: Shape,
    model: str,
    stream: bool,
) -> web.StreamResponse:
    try:
        async with opening as reply:
            match reply:
                case Residency(reason):
                    return _one(residency_record(model, shape, reason))
                case RenderedPrompt():
                    return _one(debug_record(model, shape, reply))
                case Generation():
                    return await _generated(request, reply, Records(model, shape, reply), stream)
    except _WHILE_GENERATING as error:
        return NATIVE.reply(error, content_type=PLAIN_JSON if stream else JSON)


async def _generated(
    request: web.Request, generation: Generation, records: Records, stream: bool
) -> web.StreamResponse:
    headers = truncation_headers(generation.overflow)
    if not stream:
        return _one(records.folded(await gathered(generation.items)), headers)
    return await stream_records(
        request,
        generation.items,
        records.lines,
        content_type=NDJSON,
        error_record=native_line,
        headers=headers,
    )


def _one(body: bytes, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=body, headers={"Content-Type": JSON, **(headers or {})})
