"""``/metrics``: what Prometheus collects."""

from __future__ import annotations

from aiohttp import web

from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.metrics import CONTENT_TYPE
from orchestrator.scheduler.views import RunnerState


def routes(state: AppState) -> tuple[Route, ...]:
    """The route of this module."""

    async def metrics(_: web.Request) -> web.Response:
        loaded = [view for view in state.scheduler.loaded() if view.state is not RunnerState.STOPPING]
        state.metrics.queue_changed(state.scheduler.queue().length)
        state.metrics.runners_changed(count=len(loaded), size_bytes=sum(view.total_bytes for view in loaded))
        return web.Response(body=state.metrics.exposition(), headers={"Content-Type": CONTENT_TYPE})

    return (Route("GET", "/metrics", metrics),)
