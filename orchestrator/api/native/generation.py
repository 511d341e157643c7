"""``/api/generate`` and ``/api/chat``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from aiohttp import web

from orchestrator.api.bodies import read_noting
from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.errors import NATIVE, native_line
from orchestrator.api.native.convert import to_chat, to_generate, wants_stream
from orchestrator.api.native.passed_over import in_chat
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
from orchestrator.api.warnings import logged, request_warnings
from orchestrator.domain.formats import InvalidFormat
from orchestrator.errors import EngineRefused, OrchestratorError, RunnerFailed
from orchestrator.inference.chat import chat
from orchestrator.inference.errors import ContextOverflow, PromptTooLong
from orchestrator.inference.generate import generate
from orchestrator.inference.reply import Generation, RenderedPrompt, Reply, Residency
from orchestrator.wire import native as wire

CHAT = ChatShape()
GENERATE = GenerateShape()

_KEYS = wire.ChatRequest.known_names | wire.GenerateRequest.known_names | wire.Message.known_names

_OF_A_PROMPT = (EngineRefused, PromptTooLong, ContextOverflow, InvalidFormat)
_OF_A_GENERATION = (RunnerFailed, *_OF_A_PROMPT)
"""In place of a stream they go out as the stream would have, without a charset; what fails before, a load
among it, never would have been one."""


def routes(state: AppState) -> Iterable[Route]:
    """The routes that generate text."""

    async def post_chat(request: web.Request) -> web.StreamResponse:
        body, unknown = await read_noting(request, wire.ChatRequest)
        asked = _asked(CHAT, body, unknown, logged(in_chat(body)))
        return await _answered(request, chat(state.inference, to_chat(body)), asked)

    async def post_generate(request: web.Request) -> web.StreamResponse:
        body, unknown = await read_noting(request, wire.GenerateRequest)
        reply = generate(state.inference, to_generate(body))
        return await _answered(request, reply, _asked(GENERATE, body, unknown))

    return (Route("POST", "/api/chat", post_chat), Route("POST", "/api/generate", post_generate))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What of a request the form of its reply depends on."""

    model: str
    shape: Shape
    stream: bool
    """A prompt that is only shown never is one."""
    warnings: tuple[str, ...]


def _asked(
    shape: Shape,
    body: wire.ChatRequest | wire.GenerateRequest,
    unknown: Sequence[str],
    passed_over: Sequence[str] = (),
) -> _Asked:
    return _Asked(
        body.model,
        shape,
        wants_stream(body.stream) and not body.debug_render_only,
        (*request_warnings(unknown, body.options or {}, _KEYS), *passed_over),
    )


async def _answered(
    request: web.Request, opening: AbstractAsyncContextManager[Reply], asked: _Asked
) -> web.StreamResponse:
    try:
        async with opening as reply:
            match reply:
                case Residency(reason, warnings):
                    told = (*asked.warnings, *warnings)
                    return _one(residency_record(asked.model, asked.shape, reason, told))
                case RenderedPrompt():
                    return _one(debug_record(asked.model, asked.shape, reply))
                case Generation():
                    return await _generated(request, reply, asked)
    except _OF_A_PROMPT as error:
        return _failed(error, asked)


def _failed(error: OrchestratorError, asked: _Asked) -> web.Response:
    return NATIVE.reply(error, content_type=PLAIN_JSON if asked.stream else JSON)


async def _generated(request: web.Request, generation: Generation, asked: _Asked) -> web.StreamResponse:
    try:
        return await _written(request, generation, asked)
    except _OF_A_GENERATION as error:
        return _failed(error, asked)


async def _written(request: web.Request, generation: Generation, asked: _Asked) -> web.StreamResponse:
    records = Records(asked.model, asked.shape, generation, asked.warnings)
    headers = truncation_headers(generation.overflow)
    if not asked.stream:
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
