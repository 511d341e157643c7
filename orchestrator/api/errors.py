"""Status codes and bodies of errors, chosen here alone.

``status_of`` says which status an error has, whatever the dialect; a ``Dialect`` says in which JSON the
client reads it, as the body of a reply or as the last record of a stream that has begun.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from orchestrator.api.replies import JSON
from orchestrator.errors import (
    BadRequest,
    EngineRefused,
    Forbidden,
    NotFound,
    OrchestratorError,
    QueueFull,
    RequestCanceled,
    ShuttingDown,
    Unauthorized,
)
from orchestrator.inference.search import SearchFailed
from orchestrator.wire.json import dumps

logger = logging.getLogger(__name__)

ERROR_TYPE = web.RequestKey("error type", str)
"""The media type of errors from here on, where a dialect makes a difference."""

STATUSES: tuple[tuple[type[OrchestratorError], int], ...] = (
    (BadRequest, 400),
    (NotFound, 404),
    (Unauthorized, 401),
    (Forbidden, 403),
    (QueueFull, 503),
    (RequestCanceled, 499),
    (ShuttingDown, 503),
)
"""The first entry an error is an instance of counts; every other error is a 500."""


class BodyTooLarge(OrchestratorError):
    """A request body beyond ``ORCH_MAX_BODY``."""

    hint = "raise ORCH_MAX_BODY, or upload files with /api/blobs"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"request body is larger than {limit_bytes} bytes, the limit set by ORCH_MAX_BODY")
        self.limit_bytes = limit_bytes


class BodyTooSlow(OrchestratorError):
    """A request body that does not arrive."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"request body did not arrive within {seconds:.0f} seconds")


class OutsideDialect(OrchestratorError):
    """An error that Ollama raises before a dialect is spoken: it is told as the native API would."""

    def __init__(self, error: OrchestratorError) -> None:
        super().__init__(str(error))
        self.hint, self.advice = error.hint, error.advice
        self.error = error


def status_of(error: OrchestratorError) -> int:
    """The HTTP status of an error."""
    match error:
        case OutsideDialect():
            return status_of(error.error)
        case EngineRefused() | SearchFailed():
            return error.status
        case BodyTooLarge():
            return 413
        case BodyTooSlow():
            return 408
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one API tells of errors."""

    body: Callable[[OrchestratorError, int], dict[str, Any]]
    """The error object for an error and its status."""

    def reply(self, error: OrchestratorError, *, content_type: str = JSON) -> web.Response:
        """The whole reply to a request that failed before anything was sent."""
        status = status_of(error)
        return web.Response(
            body=dumps(self.body(error, status)), status=status, headers={"Content-Type": content_type}
        )

    def refusal(
        self,
        error: OrchestratorError,
        *,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> web.Response:
        """The same, with more ``headers``; the operator is told what may help."""
        log_hint(error)
        response = self.reply(error, content_type=content_type)
        response.headers.update(headers or {})
        return response

    def record(self, error: OrchestratorError) -> dict[str, Any]:
        """What stands in a stream that broke off."""
        return self.body(error, status_of(error))

    def spoken(
        self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """``handler``, whose failures are told in this dialect."""

        async def answer(request: web.Request) -> web.StreamResponse:
            try:
                return await handler(request)
            except OutsideDialect:
                raise
            except OrchestratorError as error:
                return self.refusal(error, content_type=request.get(ERROR_TYPE, JSON))

        return answer


def advice_members(error: OrchestratorError) -> dict[str, Any]:
    """The member that tells a client what the text does not."""
    return {"advice": error.advice} if error.advice else {}


def log_hint(error: OrchestratorError) -> None:
    """Tell the operator what may help against an error that the client is told."""
    if hint := error.hint or error.advice:
        logger.info("request failed: %s (%s)", error, hint)


def _native(error: OrchestratorError, status: int) -> dict[str, Any]:
    return {"error": str(error), **advice_members(error)}


NATIVE = Dialect(_native)


def native_line(error: OrchestratorError) -> bytes:
    """The last line of a native stream that broke off."""
    return dumps(NATIVE.record(error)) + b"\n"
