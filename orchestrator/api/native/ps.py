"""``/api/ps``: the models that are loaded, and who waits. Source: ``api-native`` §9.7."""

from __future__ import annotations

import time

from aiohttp import web

from orchestrator.api.native import details
from orchestrator.api.replies import json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName
from orchestrator.errors import OrchestratorError
from orchestrator.scheduler.views import RunnerState, RunnerView
from orchestrator.store.models import ModelStore
from orchestrator.units import rfc3339_local
from orchestrator.wire import native as wire


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def ps(_: web.Request) -> web.Response:
        now = time.time_ns()
        views = state.scheduler.loaded()
        there = [view for view in views if view.state is not RunnerState.STOPPING]
        leaving = [view for view in views if view.state is RunnerState.STOPPING]
        there.sort(key=lambda view: view.expires_ns or now, reverse=True)
        queue = state.scheduler.queue()
        return json_reply(
            wire.ProcessResponse(
                models=[
                    _entry(view, await _details(state.models, view), view.expires_ns or now) for view in there
                ],
                stopping=[_entry(view, await _details(state.models, view), now) for view in leaving],
                queue=wire.QueueState(
                    waiting=queue.length, by_model=dict(queue.by_model), oldest_ns=queue.oldest_ns
                ),
            )
        )

    return (Route("GET", "/api/ps", ps),)


async def _details(models: ModelStore, view: RunnerView) -> wire.ModelDetails:
    """The parent model is not told here, as in Ollama."""
    try:
        model = await models.open(ModelName.parse(view.files.name))
    except OrchestratorError:  # deleted or damaged since it was loaded
        return details.of_files(view.files)
    return details.of_model(model).model_copy(update={"parent_model": ""})


def _entry(view: RunnerView, kind: wire.ModelDetails, expires_ns: int) -> wire.RunningModel:
    files = view.files
    return wire.RunningModel(
        name=files.name,
        model=files.name,
        size=view.total_bytes,
        digest=files.digest,
        details=kind,
        expires_at=rfc3339_local(expires_ns),
        size_vram=view.vram_bytes,
        context_length=view.num_ctx,
        state=view.state,
        active_requests=min(view.active, view.slots),
        waiting_requests=view.waiting + max(view.active - view.slots, 0),  # those at the engine's door, too
        parallel=view.slots,
        pid=view.pid,
    )
