"""``/api/pull`` and ``/api/push``: models from and to registries.

Source: ``api-native`` §4.4, §9.13, §9.14.
"""

from __future__ import annotations

from dataclasses import replace

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.native.convert import wants_stream
from orchestrator.api.native.progress import progress_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.names import DEFAULT_SCHEME, ModelName, ModelReference
from orchestrator.inference.errors import InvalidModelName, ModelRequired
from orchestrator.wire import native as wire


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def pull(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.TransferRequest)
        name = _name(body.model or body.name)
        steps = state.transfers.pulls.pull(name, insecure=body.insecure)
        return await progress_reply(request, steps, stream=wants_stream(body.stream))

    async def push(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.TransferRequest)
        if not (text := body.model or body.name):
            raise ModelRequired
        steps = state.transfers.pushes.push(text, insecure=body.insecure)
        return await progress_reply(request, steps, stream=wants_stream(body.stream))

    return (Route("POST", "/api/pull", pull), Route("POST", "/api/push", push))


def _name(text: str) -> ModelName:
    """The model to be pulled. A scheme is not looked at: ``insecure`` alone decides how it is fetched."""
    if not text.strip():
        raise InvalidModelName("no model was named")
    return replace(ModelName.parse(ModelReference.parse(text).pull_name), scheme=DEFAULT_SCHEME)
