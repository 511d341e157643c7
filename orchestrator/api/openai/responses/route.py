"""``/v1/responses``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any

from aiohttp import web

from orchestrator.api.disclosures import told, truncation_headers
from orchestrator.api.events import STREAM_HEADERS, LifeSign, stream_events
from orchestrator.api.openai.errors import OPENAI, Unsupported
from orchestrator.api.openai.reading import Asked, read_request
from orchestrator.api.openai.responses.convert import to_chat
from orchestrator.api.openai.responses.events import ResponseEvents
from orchestrator.api.openai.responses.frame import ResponseFrame
from orchestrator.api.openai.responses.passed_over import in_response
from orchestrator.api.openai.responses.rounds import Conversation, SearchBegun, SearchDone
from orchestrator.api.openai.responses.store import ResponseStore
from orchestrator.api.openai.responses.tools import offers_search
from orchestrator.api.openai.responses.whole import whole_response
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.chunks import Chunk
from orchestrator.domain.requests import ChatRequest
from orchestrator.errors import OrchestratorError
from orchestrator.inference.chat import chat
from orchestrator.inference.reply import Generation
from orchestrator.inference.search import SearchFailed, no_search
from orchestrator.wire import responses as wire

Request = Asked[wire.ResponsesRequest, ChatRequest]


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module, with a memory of its own."""
    store = ResponseStore()

    def convert(body: wire.ResponsesRequest) -> ChatRequest:
        _refuse_unsupported(body)
        history = store.get(body.previous_response_id) if body.previous_response_id else ()
        return to_chat(body, history)

    async def post(request: web.Request) -> web.StreamResponse:
        asked = await read_request(request, wire.ResponsesRequest, convert, in_response)
        frame = _fresh_frame(asked.body, store)
        search = no_search if offers_search(asked.body.tools) else None
        conversation = Conversation(asked.wanted, lambda wanted: chat(state.inference, wanted), search)
        if not asked.body.stream:
            return await _whole(asked, frame, conversation, store)
        headers = dict(STREAM_HEADERS)
        events = ResponseEvents(frame)

        def ending() -> bytes:
            _keep(frame, conversation, store)
            return events.end(conversation.usage, _told(asked, conversation))

        try:
            return await stream_events(
                request,
                event_records(conversation, events, headers, ending),
                error_record=lambda error: events.failed(str(error), code="server_error"),
                life_sign=LifeSign(interval_s=state.sse_ping_s),
                headers=headers,
            )
        except OrchestratorError as error:
            return OPENAI.refusal(error, content_type=PLAIN_JSON, headers=headers)

    return (Route("POST", "/v1/responses", post),)


async def _whole(
    asked: Request, frame: ResponseFrame, conversation: Conversation, store: ResponseStore
) -> web.Response:
    headers: dict[str, str] = {}
    async with aclosing(conversation.steps()) as steps:
        async for step in steps:
            if isinstance(step, Generation):
                headers |= truncation_headers(step.overflow)
    reply = whole_response(frame, conversation, _told(asked, conversation))
    _keep(frame, conversation, store)
    return json_reply(reply, content_type=PLAIN_JSON, headers=headers)


async def event_records(
    conversation: Conversation, events: ResponseEvents, headers: dict[str, str], ending: Callable[[], bytes]
) -> AsyncGenerator[bytes]:
    """The events of a conversation; a search that fails ends it, which is no error of the stream."""
    begin = events.begin()
    try:
        async with aclosing(conversation.steps()) as steps:
            async for step in steps:
                if isinstance(step, Generation):
                    headers |= truncation_headers(step.overflow)
                elif record := begin + _written(step, events):
                    yield record
                    begin = b""
    except SearchFailed as error:
        yield begin + events.failed(str(error), usage=conversation.usage)
    else:
        yield begin + ending()


def _written(step: Sequence[Chunk] | SearchBegun | SearchDone, events: ResponseEvents) -> bytes:
    match step:
        case SearchBegun(number, query):
            return events.search_begins(number, query)
        case SearchDone(number, query):
            return events.search_ends(number, query)
        case chunks:
            return events.encode(chunks)


def _told(asked: Request, conversation: Conversation) -> dict[str, Any]:
    return told(conversation.done, conversation.source, asked.warnings)


def _keep(frame: ResponseFrame, conversation: Conversation, store: ResponseStore) -> None:
    """Remember the conversation, its instructions aside: those are for one response only."""
    if frame.body.store is False or conversation.source is None:
        return
    messages = conversation.messages
    store.keep(frame.id, messages[1:] if frame.body.instructions else messages)


def _fresh_frame(body: wire.ResponsesRequest, store: ResponseStore) -> ResponseFrame:
    frame = ResponseFrame.new(body)
    while frame.id in store:
        frame = ResponseFrame.new(body)
    return frame


def _refuse_unsupported(body: wire.ResponsesRequest) -> None:
    if body.background:
        raise Unsupported("'background' is not supported: send the request without it, and wait")
    if body.conversation:
        raise Unsupported("'conversation' is not supported, use 'previous_response_id'")
    if body.prompt:
        raise Unsupported("'prompt' is not supported: there are no stored prompts here")
