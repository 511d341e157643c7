"""Requests of this dialect, read and converted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from aiohttp import web

from orchestrator.api.bodies import read_noting
from orchestrator.api.errors import ERROR_TYPE
from orchestrator.api.remote import refuse_remote
from orchestrator.api.replies import PLAIN_JSON
from orchestrator.api.warnings import logged, request_warnings
from orchestrator.errors import BadRequest
from orchestrator.wire import openai as wire
from orchestrator.wire.errors import MissingBody

M = TypeVar("M", bound=wire.Request)
R = TypeVar("R")


class EmptyBody(BadRequest):
    """No body, in the words of this dialect."""

    def __init__(self) -> None:
        super().__init__("EOF")


@dataclass(frozen=True, slots=True)
class Asked(Generic[M, R]):
    """A request: as it came, and as what it was converted to."""

    body: M
    wanted: R
    warnings: tuple[str, ...]
    """What in the body has no effect."""


async def read_request(
    request: web.Request,
    model: type[M],
    convert: Callable[[M], R],
    passed_over: Callable[[M], Iterable[str]] = lambda _: (),
) -> Asked[M, R]:
    """The body as ``model``, as what ``convert`` makes of it, and what in it is ``passed_over``.

    Raises ``EmptyBody``, and what ``bodies.read`` and ``convert`` raise. Errors from then on are of another
    media type, for they are the inference's, not those of the dialect.
    """
    try:
        body, unknown = await read_noting(request, model, packed=True)
    except MissingBody as error:
        raise EmptyBody from error
    refuse_remote(body.model)
    wanted = convert(body)
    request[ERROR_TYPE] = PLAIN_JSON
    warnings = request_warnings(unknown, body.options or {}, model.known_names)
    return Asked(body, wanted, (*warnings, *logged(passed_over(body))))
