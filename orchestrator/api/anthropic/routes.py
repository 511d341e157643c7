"""All routes of Anthropic's API."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.api.anthropic import count_tokens, messages
from orchestrator.api.anthropic.errors import ANTHROPIC
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState

_MODULES = (messages, count_tokens)


def anthropic_routes(state: AppState) -> tuple[Route, ...]:
    """The routes under ``/v1/messages``; failures are told as Anthropic does."""
    routes = (route for module in _MODULES for route in module.routes(state))
    return tuple(replace(route, handler=ANTHROPIC.spoken(route.handler)) for route in routes)
