"""Handlers whose module takes as long to import as a test wants."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from tests.api import slow_gate

slow_gate.opened.wait(10)


def routes(state: AppState) -> Iterable[Route]:
    async def serve(request: web.Request) -> web.Response:
        served.append(request)
        return web.Response()

    return (Route("GET", "/slow", serve),)


served: list[web.Request] = []
