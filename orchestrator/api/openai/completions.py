"""``/v1/completions``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from aiohttp import web

from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.events import LifeSign, stream_events
from orchestrator.api.openai.chat import choice_of
from orchestrator.api.openai.convert import to_choices, to_completion
from orchestrator.api.openai.errors import error_event
from orchestrator.api.openai.reading import read_request
from orchestrator.api.openai.records import Answer, Identity
from orchestrator.api.openai.text_records import TextEvents, rendered_text, text_completion
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.streams import gathered
from orchestrator.domain.chunks import Chunk, Done
from orchestrator.domain.requests import GenerateRequest
from orchestrator.inference.generate import generate
from orchestrator.inference.reply import Generation, RenderedPrompt, Residency
from orchestrator.inference.service import Inference
from orchestrator.wire import openai as wire


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        body = await read_request(request, wire.CompletionRequest)
        wanted, choices = to_completion(body), to_choices(body.n)
        identity, headers = Identity.new("cmpl", body.model), dict[str, str]()
        echo = [Chunk(body.prompt)] if body.echo else []
        if not body.stream:
            reply = await _whole(state.inference, wanted, choices, echo, identity, headers)
            return json_reply(reply, content_type=PLAIN_JSON, headers=headers)
        usage = body.stream_options is not None and body.stream_options.include_usage
        events = TextEvents(identity, include_usage=usage, choices=choices)
        return await stream_events(
            request,
            _streamed(state.inference, wanted, choices, echo, events, headers),
            error_record=error_event,
            life_sign=LifeSign(interval_s=state.sse_ping_s),
            headers=headers,
        )

    return (Route("POST", "/v1/completions", post),)


async def _streamed(
    inference: Inference,
    wanted: GenerateRequest,
    choices: int,
    echo: list[Chunk],
    events: TextEvents,
    headers: dict[str, str],
) -> AsyncIterator[bytes]:
    """The events of all choices, one answer after the other."""
    for index in range(choices):
        async with generate(inference, choice_of(wanted, index)) as reply:
            match reply:
                case Residency(reason):
                    yield events.encode([*echo, Done(reason)])
                case RenderedPrompt():
                    yield events.encode([Chunk()])  # a stream has no place for a prompt
                    return
                case Generation(items, overflow=overflow):
                    headers |= truncation_headers(overflow)
                    first = events.encode(echo)
                    async for batch in items:
                        yield first + events.encode(batch, overflow)
                        first = b""


async def _whole(
    inference: Inference,
    wanted: GenerateRequest,
    choices: int,
    echo: list[Chunk],
    identity: Identity,
    headers: dict[str, str],
) -> dict[str, Any]:
    answers = []
    for index in range(choices):
        async with generate(inference, choice_of(wanted, index)) as reply:
            match reply:
                case Residency(reason):
                    answers.append(Answer([*echo, Done(reason)]))
                case RenderedPrompt():
                    return rendered_text(identity, reply)
                case Generation(items, overflow=overflow):
                    headers |= truncation_headers(overflow)
                    answers.append(Answer([*echo, *await gathered(items)], overflow))
    return text_completion(identity, answers)
