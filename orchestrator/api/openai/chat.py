"""``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from aiohttp import web

from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.events import LifeSign, stream_events
from orchestrator.api.openai.convert import to_chat, to_choices
from orchestrator.api.openai.errors import error_event
from orchestrator.api.openai.reading import read_request
from orchestrator.api.openai.records import (
    Answer,
    ChatEvents,
    Identity,
    completion,
    rendered_completion,
)
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.streams import gathered
from orchestrator.domain.chunks import Done
from orchestrator.domain.requests import ChatRequest, GenerationRequest
from orchestrator.inference.chat import chat
from orchestrator.inference.reply import Generation, RenderedPrompt, Residency
from orchestrator.inference.service import Inference
from orchestrator.wire import openai as wire

R = TypeVar("R", bound=GenerationRequest)


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        body = await read_request(request, wire.ChatCompletionRequest)
        wanted, choices = to_chat(body), to_choices(body.n)
        identity, headers = Identity.new("chatcmpl", body.model), dict[str, str]()
        if not body.stream:
            reply = await _whole(state.inference, wanted, choices, identity, headers)
            return json_reply(reply, content_type=PLAIN_JSON, headers=headers)
        usage = body.stream_options is not None and body.stream_options.include_usage
        events = ChatEvents(identity, include_usage=usage, choices=choices)
        return await stream_events(
            request,
            _streamed(state.inference, wanted, choices, events, headers),
            error_record=error_event,
            life_sign=LifeSign(interval_s=state.sse_ping_s),
            headers=headers,
        )

    return (Route("POST", "/v1/chat/completions", post),)


async def _streamed(
    inference: Inference, wanted: ChatRequest, choices: int, events: ChatEvents, headers: dict[str, str]
) -> AsyncIterator[bytes]:
    """The events of all choices, one answer after the other."""
    for index in range(choices):
        async with chat(inference, choice_of(wanted, index)) as reply:
            match reply:
                case Residency(reason):
                    yield events.encode([Done(reason)])
                case RenderedPrompt():
                    yield events.opening()  # a stream has no place for a prompt
                    return
                case Generation(items, overflow=overflow):
                    headers |= truncation_headers(overflow)
                    async for batch in items:
                        yield events.encode(batch, overflow)


async def _whole(
    inference: Inference, wanted: ChatRequest, choices: int, identity: Identity, headers: dict[str, str]
) -> dict[str, Any]:
    answers = []
    for index in range(choices):
        async with chat(inference, choice_of(wanted, index)) as reply:
            match reply:
                case Residency(reason):
                    answers.append(Answer([Done(reason)]))
                case RenderedPrompt():
                    return rendered_completion(identity, reply)
                case Generation(items, overflow=overflow):
                    headers |= truncation_headers(overflow)
                    answers.append(Answer(await gathered(items), overflow))
    return completion(identity, answers)


def choice_of(wanted: R, index: int) -> R:
    """The request of one of several answers: a fixed seed must not make them all alike."""
    seed = wanted.options.get("seed")
    if not index or not isinstance(seed, int):
        return wanted
    return replace(wanted, options={**wanted.options, "seed": seed + index})
