"""``/api/copy``: a second name for a model. Source: ``api-native`` §9.11, ``store`` §11."""

from __future__ import annotations

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.replies import empty_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.names import InvalidName, ModelName
from orchestrator.domain.quoting import quoted
from orchestrator.errors import BadRequest, NotFound
from orchestrator.store.errors import ModelNotFound
from orchestrator.wire import native as wire


class InvalidEnd(BadRequest):
    """The source or the destination is no name."""

    def __init__(self, end: str, text: str) -> None:
        super().__init__(f"{end} {quoted(text)} is invalid")


class SourceNotFound(NotFound):
    """There is nothing to copy."""

    def __init__(self, text: str) -> None:
        super().__init__(f"model {quoted(text)} not found")


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def copy(request: web.Request) -> web.Response:
        body = await read(request, wire.CopyRequest)
        source = _name("source", body.source)
        destination = _name("destination", body.destination)
        try:
            await state.models.copy(source, destination)
        except ModelNotFound as error:
            raise SourceNotFound(body.source) from error
        return empty_reply()

    return (Route("POST", "/api/copy", copy),)


def _name(end: str, text: str) -> ModelName:
    try:
        return ModelName.parse(text)
    except InvalidName as error:
        raise InvalidEnd(end, text) from error
