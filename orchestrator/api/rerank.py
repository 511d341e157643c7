"""``/v1/rerank`` and ``/api/rerank``: one form; errors are told as the rest of the path tells them."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.replies import json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.requests import RerankRequest
from orchestrator.inference.rerank import RerankReply, rerank
from orchestrator.wire import rerank as wire


def routes(state: AppState) -> Iterable[Route]:
    """The routes of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.RerankRequest)
        return json_reply(from_reply(body, await rerank(state.inference, to_rerank(body))))

    return (Route("POST", "/api/rerank", post), Route("POST", "/v1/rerank", post))


def to_rerank(body: wire.RerankRequest) -> RerankRequest:
    """The request as a domain request."""
    return RerankRequest(
        model=body.model,
        query=body.query,
        documents=tuple(body.documents),
        options=body.options or {},
        keep_alive=body.keep_alive,
        top_n=body.top_n,
    )


def from_reply(body: wire.RerankRequest, reply: RerankReply) -> wire.RerankResponse:
    """The reply to ``body``."""
    results = [
        wire.Result(
            index=ranked.index,
            relevance_score=ranked.score,
            document=wire.Document(text=body.documents[ranked.index]) if body.return_documents else None,
        )
        for ranked in reply.results
    ]
    return wire.RerankResponse(
        model=body.model,
        results=results,
        usage=wire.Usage(prompt_tokens=reply.prompt_tokens, total_tokens=reply.prompt_tokens),
        total_duration=reply.total_duration_ns,
        load_duration=reply.load_duration_ns,
    )
