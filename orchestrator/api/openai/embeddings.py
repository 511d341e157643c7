"""``/v1/embeddings``. Source: ``api-compat`` §4."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from orchestrator.api.disclosures import warning_members
from orchestrator.api.openai.convert import to_embed, to_encoding
from orchestrator.api.openai.reading import read_request
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.inference.embed import embed
from orchestrator.inference.service import name_of
from orchestrator.wire import openai as wire

if TYPE_CHECKING:
    from orchestrator.inference.embed import Vector


def routes(state: AppState) -> Iterable[Route]:
    """The route of this module."""

    async def post(request: web.Request) -> web.StreamResponse:
        asked = await read_request(request, wire.EmbeddingRequest, to_encoding)
        name_of(asked.body.model)  # what is wrong with the name is told before what is wrong with the texts
        reply = await embed(state.inference, to_embed(asked.body))
        members = embeddings(asked.body.model, reply.vectors, reply.prompt_tokens, asked.wanted)
        if reply.texts_cut:
            members["inputs_truncated"] = reply.texts_cut
        members |= warning_members((*asked.warnings, *reply.warnings))
        return json_reply(members, content_type=PLAIN_JSON)

    return (Route("POST", "/v1/embeddings", post),)


def embeddings(model: str, vectors: Sequence[Vector], tokens: int, form: str) -> dict[str, Any]:
    """The reply."""
    data = [
        {"object": "embedding", "embedding": _base64(vector) if form == "base64" else vector, "index": index}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data or None, "model": model, "usage": usage}


def _base64(vector: Vector) -> str:
    """The values in single precision, the lowest byte first."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
