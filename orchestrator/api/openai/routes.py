"""All routes of the OpenAI API, and which module answers them."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.api.openai.errors import OPENAI
from orchestrator.api.routing import Route, deferred
from orchestrator.api.state import AppState

MODULES = {
    "orchestrator.api.openai.chat": ("POST /v1/chat/completions",),
    "orchestrator.api.openai.completions": ("POST /v1/completions",),
    "orchestrator.api.openai.responses.route": ("POST /v1/responses",),
    "orchestrator.api.openai.embeddings": ("POST /v1/embeddings",),
    "orchestrator.api.openai.models": ("GET /v1/models", "GET /v1/models/{model}"),
    "orchestrator.api.openai.transcriptions": ("POST /v1/audio/transcriptions",),
    "orchestrator.api.rerank": ("POST /v1/rerank",),
}


def openai_routes(state: AppState) -> tuple[Route, ...]:
    """The routes under ``/v1`` that speak as OpenAI does, errors included."""
    routes = deferred(state, MODULES)
    return tuple(replace(route, handler=OPENAI.spoken(route.handler)) for route in routes)
