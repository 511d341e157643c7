"""``/api/create``: a new model of uploaded files, or of one that is there. Source: ``api-native`` §9.9."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.native.convert import to_create, wants_stream
from orchestrator.api.native.progress import Steps, progress_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.create.build import build
from orchestrator.create.plan import CreateRequest, check_form, plan_create
from orchestrator.domain.names import DEFAULT_SCHEME, ModelName
from orchestrator.domain.progress import Progress
from orchestrator.wire import native as wire


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def create(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.CreateRequest)
        wanted = to_create(body)
        check_form(wanted)
        return await progress_reply(request, _steps(wanted, state), stream=wants_stream(body.stream))

    return (Route("POST", "/api/create", create),)


async def _steps(wanted: CreateRequest, state: AppState) -> Steps:
    """What is wrong with the rest of the request is the failure of the first step, as in Ollama."""

    def pull(name: ModelName) -> AsyncGenerator[Progress, None]:
        return state.transfers.pulls.pull(replace(name, scheme=DEFAULT_SCHEME))

    building = build(plan_create(wanted), state.models, pull=pull, quantizer=state.quantizer)
    async with aclosing(building) as steps:
        async for step in steps:
            yield step
