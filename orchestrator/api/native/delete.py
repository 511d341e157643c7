"""``/api/delete``: a model leaves the store, and its runner the memory.

Source: ``api-native`` §5.3, §9.12.
"""

from __future__ import annotations

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.replies import empty_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.names import InvalidName, ModelName, ModelReference
from orchestrator.domain.quoting import quoted
from orchestrator.errors import BadRequest
from orchestrator.inference.errors import ModelNotFound, ModelRequired
from orchestrator.scheduler.loop import Scheduler
from orchestrator.store import errors as store
from orchestrator.wire import native as wire


class InvalidDeletion(BadRequest):
    """What is to be deleted has no name a model can have."""

    def __init__(self, text: str) -> None:
        super().__init__(f"name {quoted(text)} is invalid")


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def delete(request: web.Request) -> web.Response:
        body = await read(request, wire.DeleteRequest)
        text = body.model or body.name
        name = _name(text)
        try:
            await state.models.delete(name)
        except store.ModelNotFound as error:
            raise ModelNotFound(text) from error
        _end_runner(state.scheduler, name)
        return empty_reply()

    return (Route("DELETE", "/api/delete", delete),)


def _name(text: str) -> ModelName:
    if not text.strip():
        raise ModelRequired
    try:
        return ModelName.parse(ModelReference.parse(text).pull_name)
    except InvalidName as error:
        raise InvalidDeletion(text) from error


def _end_runner(scheduler: Scheduler, name: ModelName) -> None:
    """End the runner that was loaded under this name; another model of the same weights keeps its own."""
    for view in scheduler.loaded():
        if ModelName.parse(view.files.name).same_as(name):
            scheduler.unload(view.files.key)
