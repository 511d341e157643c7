"""``/v1/models``: the models there are. Source: ``api-compat`` §5."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from orchestrator.api.errors import ERROR_TYPE
from orchestrator.api.remote import open_described
from orchestrator.api.replies import PLAIN_JSON, json_reply
from orchestrator.api.routing import Route, parameter
from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName
from orchestrator.units import SECOND_NS
from orchestrator.wire import openai as wire


def routes(state: AppState) -> Iterable[Route]:
    """The routes of this module."""

    async def list_models(_: web.Request) -> web.StreamResponse:
        listed = await state.models.list()
        cards = [card(model.name.short, model.name, model.modified_ns) for model in listed]
        return json_reply(wire.ModelList(data=cards or None), content_type=PLAIN_JSON)

    async def get_model(request: web.Request) -> web.StreamResponse:
        request[ERROR_TYPE] = PLAIN_JSON
        text = parameter(request)
        model = await open_described(state, text)
        return json_reply(card(text, model.name, model.modified_ns), content_type=PLAIN_JSON)

    return (Route("GET", "/v1/models", list_models), Route("GET", "/v1/models/{model}", get_model))


def card(text: str, name: ModelName, modified_ns: int) -> wire.Model:
    """One model; ``text`` is how it is called."""
    return wire.Model(id=text, created=modified_ns // SECOND_NS, owned_by=name.namespace)
