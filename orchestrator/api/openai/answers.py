"""Answering a request for text, chat completion or completion, as one object or as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from aiohttp import web

from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.events import LifeSign, stream_events
from orchestrator.api.openai.errors import error_event
from orchestrator.api.openai.identity import Identity
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.streams import gathered
from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item
from orchestrator.domain.requests import GenerationRequest
from orchestrator.inference.reply import Generation, RenderedPrompt, Reply, Residency

R = TypeVar("R", bound=GenerationRequest)


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer, and where it came from."""

    items: Sequence[Item]
    source: Generation | None = None

    @property
    def done(self) -> Done:
        """How it ended."""
        return next((item for item in self.items if isinstance(item, Done)), Done(DoneReason.STOP))

    @property
    def chunks(self) -> list[Chunk]:
        """What it is made of."""
        return [item for item in self.items if isinstance(item, Chunk)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked for, and how often."""

    identity: Identity
    open: Callable[[int], AbstractAsyncContextManager[Reply]]
    """Asks for the answer of that index."""
    choices: int = 1
    include_usage: bool = False
    warnings: tuple[str, ...] = ()
    """What of the request has no effect."""
    echo: tuple[Chunk, ...] = ()
    """What every answer begins with."""


class Events(Protocol):
    """Writes the events of one reply; its answers follow one another."""

    def encode(self, batch: Sequence[Item], source: Generation | None = None) -> bytes:
        """The events of ``batch``; those after the last answer are among them."""

    def opening(self) -> bytes:
        """An event without content."""


class Form(Protocol):
    """How the replies of one route are written."""

    def events(self, question: Question) -> Events:
        """The writer of a stream."""

    def whole(self, question: Question, answers: Sequence[Answer]) -> dict[str, Any]:
        """The reply in one piece."""

    def rendered(self, question: Question, prompt: RenderedPrompt) -> dict[str, Any]:
        """The reply that shows a prompt."""


async def answer(
    request: web.Request, question: Question, form: Form, *, stream: bool, silence_s: float
) -> web.StreamResponse:
    """The reply to ``question``; ``silence_s`` is the longest silence in a stream."""
    headers: dict[str, str] = {}
    if not stream:
        reply = await _whole(question, form, headers)
        return json_reply(reply, content_type=PLAIN_JSON, headers=headers)
    return await stream_events(
        request,
        _streamed(question, form.events(question), headers),
        error_record=error_event,
        life_sign=LifeSign(interval_s=silence_s),
        headers=headers,
    )


def choice_of(wanted: R, index: int) -> R:
    """The request of one of several answers: a fixed seed must not make them all alike."""
    seed = wanted.options.get("seed")
    if not index or not isinstance(seed, int):
        return wanted
    return replace(wanted, options={**wanted.options, "seed": seed + index})


async def _streamed(question: Question, events: Events, headers: dict[str, str]) -> AsyncIterator[bytes]:
    for index in range(question.choices):
        async with question.open(index) as reply:
            match reply:
                case Residency(reason):
                    yield events.encode([*question.echo, Done(reason)])
                case RenderedPrompt():
                    yield events.opening()  # a stream has no place for a prompt
                    return
                case Generation(items):
                    headers |= truncation_headers(reply.overflow)
                    if question.echo:
                        yield events.encode(question.echo)
                    async for batch in items:
                        yield events.encode(batch, reply)


async def _whole(question: Question, form: Form, headers: dict[str, str]) -> dict[str, Any]:
    answers = []
    for index in range(question.choices):
        async with question.open(index) as reply:
            match reply:
                case Residency(reason):
                    answers.append(Answer([*question.echo, Done(reason)]))
                case RenderedPrompt():
                    return form.rendered(question, reply)
                case Generation(items):
                    headers |= truncation_headers(reply.overflow)
                    answers.append(Answer([*question.echo, *await gathered(items)], reply))
    return form.whole(question, answers)
