"""``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.openai.answers import Question, answer, choice_of
from orchestrator.api.openai.chat_records import ChatForm
from orchestrator.api.openai.convert import to_chat, to_choices
from orchestrator.api.openai.identity import Identity
from orchestrator.api.openai.reading import read_request
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.inference.chat import chat
from orchestrator.wire import openai as wire

_FORM = ChatForm()


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        asked = await read_request(request, wire.ChatCompletionRequest, to_chat)
        body, wanted = asked.body, asked.wanted
        question = Question(
            identity=Identity.new("chatcmpl", body.model),
            open=lambda index: chat(state.inference, choice_of(wanted, index)),
            choices=1 if body.debug_render_only else to_choices(body.n),
            at_once=state.scheduler.parallel,
            include_usage=body.stream_options is not None and body.stream_options.include_usage,
            warnings=asked.warnings,
        )
        return await answer(request, question, _FORM, stream=body.stream, silence_s=state.sse_ping_s)

    return (Route("POST", "/v1/chat/completions", post),)
