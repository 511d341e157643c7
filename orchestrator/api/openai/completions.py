"""``/v1/completions``."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.openai.answers import Question, answer
from orchestrator.api.openai.convert import to_completion
from orchestrator.api.openai.passed_over import in_completion
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
        asked = await read_request(request, wire.CompletionRequest, to_completion, in_completion)
        question = Question.of(
            asked,
            lambda wanted: generate(state.inference, wanted),
            prefix="cmpl",
            at_once=state.scheduler.parallel,
            echo=(Chunk(asked.body.prompt),) if asked.body.echo else (),
        )
        return await answer(request, question, _FORM, silence_s=state.sse_ping_s)

    return (Route("POST", "/v1/completions", post),)
