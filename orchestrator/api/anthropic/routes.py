"""All routes of Anthropic's API, and which module answers them."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.api.anthropic.errors import ANTHROPIC
from orchestrator.api.routing import Route, deferred
from orchestrator.api.state import AppState

MODULES = {
    "orchestrator.api.anthropic.messages": ("POST /v1/messages",),
    "orchestrator.api.anthropic.count_tokens": ("POST /v1/messages/count_tokens",),
}


def anthropic_routes(state: AppState) -> tuple[Route, ...]:
    """The routes under ``/v1/messages``; failures are told as Anthropic does."""
    routes = deferred(state, MODULES)
    return tuple(replace(route, handler=ANTHROPIC.spoken(route.handler)) for route in routes)
