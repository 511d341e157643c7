"""``/v1/completions``."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.openai.answers import Question, answer, choice_of
from orchestrator.api.openai.convert import to_choices, to_completion
from orchestrator.api.openai.identity import Identity
from orchestrator.api.openai.reading import read_request
from orchestrator.api.openai.text_records import TextForm
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.chunks import Chunk
from orchestrator.inference.generate import generate
from orchestrator.wire import openai as wire

_FORM = TextForm()


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        asked = await read_request(request, wire.CompletionRequest, to_completion)
        body, wanted = asked.body, asked.wanted
        question = Question(
            identity=Identity.new("cmpl", body.model),
            open=lambda index: generate(state.inference, choice_of(wanted, index)),
            choices=1 if body.debug_render_only else to_choices(body.n),
            at_once=state.scheduler.parallel,
            include_usage=body.stream_options is not None and body.stream_options.include_usage,
            warnings=asked.warnings,
            echo=(Chunk(body.prompt),) if body.echo else (),
        )
        return await answer(request, question, _FORM, stream=body.stream, silence_s=state.sse_ping_s)

    return (Route("POST", "/v1/completions", post),)
