"""``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.openai.answers import Question, answer
from orchestrator.api.openai.chat_records import ChatForm
from orchestrator.api.openai.convert import to_chat
from orchestrator.api.openai.passed_over import in_chat
from orchestrator.api.openai.reading import read_request
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.inference.chat import chat
from orchestrator.wire import openai as wire

_FORM = ChatForm()


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        asked = await read_request(request, wire.ChatCompletionRequest, to_chat, in_chat)
        question = Question.of(
            asked,
            lambda wanted: chat(state.inference, wanted),
            prefix="chatcmpl",
            at_once=state.scheduler.parallel,
        )
        return await answer(request, question, _FORM, silence_s=state.sse_ping_s)

    return (Route("POST", "/v1/chat/completions", post),)
