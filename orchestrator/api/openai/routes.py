"""All routes of the OpenAI API."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.api.openai import chat, completions, embeddings, models, transcriptions
from orchestrator.api.openai.errors import OPENAI
from orchestrator.api.openai.responses import route as responses
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState

_MODULES = (chat, completions, responses, embeddings, models, transcriptions)


def openai_routes(state: AppState) -> tuple[Route, ...]:
    """The routes under ``/v1`` that speak as OpenAI does, errors included."""
    routes = (route for module in _MODULES for route in module.routes(state))
    return tuple(replace(route, handler=OPENAI.spoken(route.handler)) for route in routes)
