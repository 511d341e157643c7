"""Request bodies of this dialect."""

from __future__ import annotations

from typing import TypeVar

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.errors import BadRequest
from orchestrator.wire.model import MissingBody, Wire

M = TypeVar("M", bound=Wire)


class EmptyBody(BadRequest):
    """No body, in the words of this dialect."""

    def __init__(self) -> None:
        super().__init__("EOF")


async def read_request(request: web.Request, model: type[M]) -> M:
    """The body as ``model``. Raises ``EmptyBody``, and what ``bodies.read`` raises."""
    try:
        return await read(request, model)
    except MissingBody as error:
        raise EmptyBody from error
