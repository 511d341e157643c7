"""``/api/embed`` and the older ``/api/embeddings``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aiohttp import web

from orchestrator.api.bodies import read_noting
from orchestrator.api.disclosures import warning_members
from orchestrator.api.native.convert import to_embed, to_embedding
from orchestrator.api.replies import json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.warnings import request_warnings
from orchestrator.inference.embed import embed, embed_raw
from orchestrator.inference.service import name_of
from orchestrator.wire import native as wire


def routes(state: AppState) -> Iterable[Route]:
    """The routes that give vectors."""

    async def post_embed(request: web.Request) -> web.StreamResponse:
        body, unknown = await read_noting(request, wire.EmbedRequest)
        name_of(body.model)  # what is wrong with the name is told before what is wrong with the texts
        reply = await embed(state.inference, to_embed(body))
        record: dict[str, Any] = {"model": body.model, "embeddings": list(reply.vectors)}
        if reply.vectors:
            metrics = {
                "total_duration": reply.total_duration_ns,
                "load_duration": reply.load_duration_ns,
                "prompt_eval_count": reply.prompt_tokens,
            }
            record |= {name: value for name, value in metrics.items() if value}
        if reply.texts_cut:
            record["inputs_truncated"] = reply.texts_cut
        return json_reply(record | warning_members((*_unknown(body, unknown), *reply.warnings)))

    async def post_embeddings(request: web.Request) -> web.StreamResponse:
        body, unknown = await read_noting(request, wire.EmbeddingRequest)
        vector, warnings = await embed_raw(state.inference, to_embedding(body))
        members = warning_members((*_unknown(body, unknown), *warnings))
        return json_reply({"embedding": list(vector)} | members)

    return (Route("POST", "/api/embed", post_embed), Route("POST", "/api/embeddings", post_embeddings))


def _unknown(body: wire.EmbedRequest | wire.EmbeddingRequest, keys: Sequence[str]) -> tuple[str, ...]:
    return request_warnings(keys, body.options or {}, body.known_names)
