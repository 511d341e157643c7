"""``/v1/messages/count_tokens``."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.anthropic.convert import to_counted
from orchestrator.api.bodies import read_noting
from orchestrator.api.remote import refuse_remote
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.inference.counting import count_tokens
from orchestrator.wire import anthropic as wire


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        body, _ = await read_noting(request, wire.CountTokensRequest, packed=True)
        refuse_remote(body.model)
        tokens = await count_tokens(state.inference, to_counted(body))
        return json_reply({"input_tokens": tokens}, content_type=PLAIN_JSON)

    return (Route("POST", "/v1/messages/count_tokens", post),)
