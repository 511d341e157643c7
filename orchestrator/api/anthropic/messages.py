"""``/v1/messages``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from aiohttp import web

from orchestrator.api.anthropic.convert import to_chat
from orchestrator.api.anthropic.errors import ANTHROPIC, error_event
from orchestrator.api.anthropic.events import PING, Events
from orchestrator.api.anthropic.message import MessageFrame
from orchestrator.api.anthropic.whole import whole_message
from orchestrator.api.bodies import read
from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.errors import NATIVE, log_hint
from orchestrator.api.events import LifeSign, stream_events
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.streams import gathered
from orchestrator.domain.chunks import Done, Item
from orchestrator.domain.names import ModelReference, Source
from orchestrator.domain.requests import ChatRequest
from orchestrator.errors import OrchestratorError
from orchestrator.inference.chat import chat
from orchestrator.inference.errors import CloudDisabled
from orchestrator.inference.reply import Generation, Overflow, Reply, Residency
from orchestrator.inference.service import Inference
from orchestrator.wire import anthropic as wire

_STREAM_HEADERS = {"Cache-Control": "no-cache", "Connection": "keep-alive"}


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.MessagesRequest)
        if _is_remote(body.model):
            return NATIVE.reply(CloudDisabled())  # Ollama refuses these before any dialect is spoken
        wanted, frame = to_chat(body), MessageFrame.of(body)
        headers = dict(_STREAM_HEADERS) if body.stream else {}
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
            log_hint(error)
            refusal = ANTHROPIC.reply(error, content_type=PLAIN_JSON)
            refusal.headers.update(headers)
            return refusal

    return (Route("POST", "/v1/messages", post),)


async def _streamed(
    inference: Inference, wanted: ChatRequest, frame: MessageFrame, headers: dict[str, str]
) -> AsyncIterator[bytes]:
    async with chat(inference, wanted) as reply:
        items, overflow = _items(reply)
        headers |= truncation_headers(overflow)
        events = Events(frame, overflow)
        async for batch in items:
            if record := events.encode(batch):
                yield record


async def _whole(
    inference: Inference, wanted: ChatRequest, frame: MessageFrame, headers: dict[str, str]
) -> dict[str, Any]:
    async with chat(inference, wanted) as reply:
        items, overflow = _items(reply)
        headers |= truncation_headers(overflow)
        return whole_message(frame, await gathered(items), overflow)


def _items(reply: Reply) -> tuple[AsyncIterator[Any], Overflow | None]:
    """What a reply is made of; a request without any content only loads the model."""
    match reply:
        case Generation(items, overflow=overflow):
            return items, overflow
        case Residency(reason):
            return _once(Done(reason)), None
    raise AssertionError("a prompt was not asked for")


async def _once(item: Item) -> AsyncIterator[list[Item]]:
    yield [item]


def _is_remote(model: str) -> bool:
    try:
        return ModelReference.parse(model).source is Source.CLOUD
    except OrchestratorError:
        return False  # no name at all: whoever opens the model says so
