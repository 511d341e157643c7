"""Routes that belong to an account in the cloud, which this server has none of.

The account service counts as out of reach, and what only the cloud can do is refused as by a server with the
cloud disabled. Source: ``api-native`` §9.15.
"""

from __future__ import annotations

from aiohttp import web

from orchestrator.api.bodies import read_body
from orchestrator.api.replies import json_reply
from orchestrator.api.routing import Handler, Route
from orchestrator.api.state import AppState
from orchestrator.inference.errors import CloudDisabled
from orchestrator.wire import native as wire
from orchestrator.wire.errors import MissingBody


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""
    return (
        Route("POST", "/api/me", _who),
        Route("POST", "/api/signout", _sign_out),
        Route("DELETE", "/api/user/keys/{key}", _sign_out),
        Route("POST", "/api/experimental/web_search", _cloud_only("web search is unavailable")),
        Route("POST", "/api/experimental/web_fetch", _cloud_only("web fetch is unavailable")),
        Route("GET", "/api/experimental/model-recommendations", _recommendations),
    )


async def _who(_: web.Request) -> web.Response:
    return json_reply(wire.ErrorResponse(error="account unavailable"), status=503)


async def _sign_out(_: web.Request) -> web.Response:
    return json_reply(wire.ErrorResponse(error="there was an error signing out"), status=500)


async def _recommendations(_: web.Request) -> web.Response:
    return json_reply({"recommendations": []})


def _cloud_only(what: str) -> Handler:
    async def refuse(request: web.Request) -> web.Response:
        if not (await read_body(request)).strip():
            raise MissingBody
        raise CloudDisabled(what)

    return refuse
