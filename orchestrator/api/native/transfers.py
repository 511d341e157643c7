"""``/api/pull`` and ``/api/push``: requests are checked, and refused for want of a registry client.

Source: ``api-native`` §4.4, §9.13, §9.14.
"""

from __future__ import annotations

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.errors import NATIVE, NotAvailable
from orchestrator.api.replies import PLAIN_JSON
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName, ModelReference
from orchestrator.inference.errors import InvalidModelName, ModelRequired
from orchestrator.wire import native as wire


class NoRegistryClient(NotAvailable):
    """Models cannot be fetched or published."""

    hint = "create the model from a file with `orch create`"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} models is not supported by this version of the server")


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""
    return (Route("POST", "/api/pull", _pull), Route("POST", "/api/push", _push))


async def _pull(request: web.Request) -> web.Response:
    body = await read(request, wire.TransferRequest)
    text = body.model or body.name
    if not text.strip():
        raise InvalidModelName
    ModelName.parse(ModelReference.parse(text).pull_name)
    return NATIVE.reply(NoRegistryClient("pulling"), content_type=PLAIN_JSON)


async def _push(request: web.Request) -> web.Response:
    body = await read(request, wire.TransferRequest)
    if not (body.model or body.name):
        raise ModelRequired
    return NATIVE.reply(NoRegistryClient("pushing"), content_type=PLAIN_JSON)
