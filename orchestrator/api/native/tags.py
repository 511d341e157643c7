"""``/api/tags``: the models there are. Source: ``api-native`` §9.6, ``store`` §9."""

from __future__ import annotations

from aiohttp import web

from orchestrator.api.native import details
from orchestrator.api.replies import json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.store.model import ListedModel
from orchestrator.units import rfc3339_local
from orchestrator.wire import native as wire


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def tags(_: web.Request) -> web.Response:
        listed = await state.models.list()
        return json_reply(wire.ListResponse(models=[_entry(model) for model in listed]))

    return (Route("HEAD", "/api/tags", tags), Route("GET", "/api/tags", tags))


def _entry(model: ListedModel) -> wire.ListedModel:
    name = model.name.short
    return wire.ListedModel(
        name=name,
        model=name,
        remote_model=model.config.remote_model,
        remote_host=model.config.remote_host,
        modified_at=rfc3339_local(model.modified_ns),
        size=model.size_bytes,
        digest=model.digest,
        details=details.of_listed(model),
        capabilities=list(model.capabilities),
        damage=model.damage,
    )
