"""``/v1/messages``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any

from aiohttp import web

from orchestrator.api.anthropic.conversation import unread_blocks
from orchestrator.api.anthropic.convert import to_chat
from orchestrator.api.anthropic.errors import ANTHROPIC, error_event
from orchestrator.api.anthropic.events import PING, Events
from orchestrator.api.anthropic.message import MessageFrame
from orchestrator.api.anthropic.passed_over import in_message
from orchestrator.api.anthropic.whole import whole_message
from orchestrator.api.bodies import read_noting
from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.events import STREAM_HEADERS, LifeSign, stream_events
from orchestrator.api.remote import refuse_remote
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.streams import gathered
from orchestrator.api.warnings import logged, request_warnings
from orchestrator.domain.requests import ChatRequest
from orchestrator.errors import OrchestratorError
from orchestrator.inference.chat import chat
from orchestrator.inference.reply import Generation, Residency
from orchestrator.inference.service import Inference
from orchestrator.wire import anthropic as wire


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        body, unknown = await read_noting(request, wire.MessagesRequest, packed=True)
        refuse_remote(body.model)
        wanted = to_chat(body)
        warnings = request_warnings(unknown, {}, wire.MessagesRequest.known_names)
        passed_over = logged((*in_message(body), *unread_blocks(body.messages)))
        frame = MessageFrame.of(body, (*warnings, *passed_over))
        headers = dict(STREAM_HEADERS) if body.stream else {}
        try:
            if not body.stream:
                reply = await _whole(state.inference, wanted, frame, headers)
                return json_reply(reply, content_type=PLAIN_JSON, headers=headers)
            return await stream_events(
                request,
                _streamed(state.inference, wanted, frame, headers),
                error_record=error_event,
                life_sign=LifeSign(PING, state.sse_ping_s),
                headers=headers,
            )
        except OrchestratorError as error:
            return ANTHROPIC.refusal(error, content_type=PLAIN_JSON, headers=headers)

    return (Route("POST", "/v1/messages", post),)


async def _streamed(
    inference: Inference, wanted: ChatRequest, frame: MessageFrame, headers: dict[str, str]
) -> AsyncGenerator[bytes]:
    async with chat(inference, wanted) as reply:
        match reply:
            case Residency():
                yield Events(frame).encode([reply.done])  # there was no content at all
            case Generation(items):
                headers |= truncation_headers(reply.overflow)
                events = Events(frame, reply)
                async for batch in items:
                    if record := events.encode(batch):
                        yield record


async def _whole(
    inference: Inference, wanted: ChatRequest, frame: MessageFrame, headers: dict[str, str]
) -> dict[str, Any]:
    async with chat(inference, wanted) as reply:
        match reply:
            case Residency():
                return whole_message(frame, [reply.done])
            case Generation(items):
                headers |= truncation_headers(reply.overflow)
                return whole_message(frame, await gathered(items), reply)
    raise AssertionError("nobody asked for a prompt")
