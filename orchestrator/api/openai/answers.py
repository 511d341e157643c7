"""Answering a request for text, chat completion or completion, as one object or as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from aiohttp import web

from orchestrator.api.disclosures import truncation_headers
from orchestrator.api.events import LifeSign, stream_events
from orchestrator.api.openai.convert import to_choices
from orchestrator.api.openai.errors import error_event
from orchestrator.api.openai.identity import Identity
from orchestrator.api.openai.merging import merged
from orchestrator.api.openai.reading import Asked
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.streams import gathered
from orchestrator.domain.chunks import Chunk, Done, Item, Usage, folded
from orchestrator.domain.requests import GenerationRequest
from orchestrator.inference.reply import Generation, RenderedPrompt, Reply, Residency
from orchestrator.wire import openai as wire

B = TypeVar("B", bound=wire.TextRequest)
R = TypeVar("R", bound=GenerationRequest)


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer, how it ended, and where it came from."""

    whole: Chunk
    done: Done
    source: Generation | None = None

    @classmethod
    def of(cls, items: Iterable[Item], source: Generation | None = None) -> Answer:
        """The answer that ``items`` are the stream of."""
        return cls(*folded(items), source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked for, and how often."""

    identity: Identity
    open: Callable[[int], AbstractAsyncContextManager[Reply]]
    """Asks for the answer of that index."""
    choices: int = 1
    at_once: int = 1
    """How many answers are generated at the same time, at most."""
    include_usage: bool = False
    warnings: tuple[str, ...] = ()
    """What of the request has no effect."""
    echo: tuple[Chunk, ...] = ()
    """What every answer begins with."""
    stream: bool = False

    @classmethod
    def of(
        cls,
        asked: Asked[B, R],
        ask: Callable[[R], AbstractAsyncContextManager[Reply]],
        *,
        prefix: str,
        at_once: int,
        echo: tuple[Chunk, ...] = (),
    ) -> Question:
        """What a request asks for, by way of ``ask``; ``prefix`` begins the id of the reply."""
        body = asked.body
        return cls(
            identity=Identity.new(prefix, body.model),
            open=lambda index: ask(choice_of(asked.wanted, index)),
            choices=1 if body.debug_render_only else to_choices(body.n),
            at_once=at_once,
            include_usage=body.stream_options is not None and body.stream_options.include_usage,
            warnings=asked.warnings,
            echo=echo,
            stream=body.stream,
        )


@dataclass(slots=True)
class Costs:
    """What the answers of one stream have cost so far."""

    choices: int
    _usages: dict[int, Usage] = field(default_factory=dict)

    def total_after(self, index: int, usage: Usage) -> Usage | None:
        """What all of them cost, if the end of that one is the last: the prompt counts once."""
        self._usages[index] = usage
        if len(self._usages) < self.choices:
            return None
        return total_usage([self._usages[index] for index in range(self.choices)])


class Events(Protocol):
    """Writes the events of one answer."""

    def encode(self, batch: Sequence[Item], source: Generation | None = None) -> bytes:
        """The events of ``batch``; if no other answer is open, those that end the stream are among them."""

    def opening(self) -> bytes:
        """An event without content."""


class Form(Protocol):
    """How the replies of one route are written."""

    def events(self, question: Question, index: int, costs: Costs) -> Events:
        """The writer of the answer of that index, one of several in a stream."""

    def whole(self, question: Question, answers: Sequence[Answer]) -> dict[str, Any]:
        """The reply in one piece."""

    def rendered(self, question: Question, prompt: RenderedPrompt) -> dict[str, Any]:
        """The reply that shows a prompt."""


async def answer(
    request: web.Request, question: Question, form: Form, *, silence_s: float
) -> web.StreamResponse:
    """The reply to ``question``; ``silence_s`` is the longest silence in a stream."""
    headers: dict[str, str] = {}
    if not question.stream:
        reply = await _whole(question, form, headers)
        return json_reply(reply, content_type=PLAIN_JSON, headers=headers)
    return await stream_events(
        request,
        _streamed(question, form, headers),
        error_record=error_event,
        life_sign=LifeSign(interval_s=silence_s),
        headers=headers,
    )


def choice_of(wanted: R, index: int) -> R:
    """The request of one of several answers: a fixed seed must not make them all alike; below 0 is none."""
    seed = wanted.options.get("seed")
    if not index or not isinstance(seed, int) or seed < 0:
        return wanted
    return replace(wanted, options={**wanted.options, "seed": seed + index})


def total_usage(usages: Sequence[Usage]) -> Usage:
    """What several answers to one prompt cost: the prompt counts once."""
    if not usages:
        return Usage()
    first = usages[0]
    completion = sum(usage.completion_tokens for usage in usages)
    return Usage(first.prompt_tokens, first.cached_tokens, completion_tokens=completion)


def _streamed(question: Question, form: Form, headers: dict[str, str]) -> AsyncGenerator[bytes]:
    costs = Costs(question.choices)
    answers = [
        _stream_of(question, index, form.events(question, index, costs), headers)
        for index in range(question.choices)
    ]
    return answers[0] if len(answers) == 1 else merged(answers, at_once=question.at_once)


async def _stream_of(
    question: Question, index: int, events: Events, headers: dict[str, str]
) -> AsyncGenerator[bytes]:
    async with question.open(index) as reply:
        match reply:
            case Residency():
                yield events.encode([*question.echo, reply.done])
            case RenderedPrompt():
                yield events.opening()  # a stream has no place for a prompt
            case Generation(items):
                headers |= truncation_headers(reply.overflow)
                if question.echo:
                    yield events.encode(question.echo)
                async for batch in items:
                    yield events.encode(batch, reply)


async def _whole(question: Question, form: Form, headers: dict[str, str]) -> dict[str, Any]:
    found: dict[int, Answer] = {}
    asked = [_answer_to(question, index) for index in range(question.choices)]
    async with aclosing(merged(asked, at_once=question.at_once)) as answers:
        async for index, reply in answers:
            if isinstance(reply, RenderedPrompt):
                return form.rendered(question, reply)
            if reply.source is not None:
                headers |= truncation_headers(reply.source.overflow)
            found[index] = reply
    return form.whole(question, [found[index] for index in range(question.choices)])


async def _answer_to(question: Question, index: int) -> AsyncGenerator[tuple[int, Answer | RenderedPrompt]]:
    async with question.open(index) as reply:
        match reply:
            case Residency():
                yield index, Answer.of([*question.echo, reply.done])
            case RenderedPrompt():
                yield index, reply
            case Generation(items):
                yield index, Answer.of([*question.echo, *await gathered(items)], reply)
