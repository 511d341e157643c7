"""``/``, ``/api/version`` and ``/api/status``: is it there, which one is it, may it use the cloud."""

from __future__ import annotations

from aiohttp import web

from orchestrator.api.replies import JSON
from orchestrator.api.routing import Handler, Route
from orchestrator.api.state import AppState
from orchestrator.wire.json import dumps

_GREETING = b"Ollama is running"


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""
    greeting = _constant(_GREETING, "text/plain; charset=utf-8")
    version = _constant(dumps({"version": state.version}), JSON)
    cloud = {"disabled": state.cloud_source != "none", "source": state.cloud_source}
    return (
        Route("HEAD", "/", greeting),
        Route("GET", "/", greeting),
        Route("HEAD", "/api/version", version),
        Route("GET", "/api/version", version),
        Route("GET", "/api/status", _constant(dumps({"cloud": cloud}), JSON)),
    )


def _constant(body: bytes, content_type: str) -> Handler:
    """A handler that always answers the same."""
    headers = {"Content-Type": content_type}

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, headers=headers)

    return answer
