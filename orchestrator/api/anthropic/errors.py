"""Errors as clients of Anthropic's API read them. Source: ``api-compat`` §1.3."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from orchestrator.api.errors import Dialect, advice_members
from orchestrator.errors import BadRequest, OrchestratorError
from orchestrator.wire.errors import MissingBody
from orchestrator.wire.json import dumps

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


class InvalidRequest(BadRequest):
    """A request that lacks what it needs, or wants what there is not."""

    details: Mapping[str, Any] = {}
    """What programs read of the refusal."""


class ThreadsNotSupported(InvalidRequest):
    """The server is to keep the conversation; SDKs go on without that when it is refused in this form."""

    details: Mapping[str, Any] = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}

    def __init__(self) -> None:
        super().__init__('conversations are not kept here: send all messages, without "thread"')


def error_body(error: OrchestratorError, status: int) -> dict[str, Any]:
    """The error object of a reply, or of the event that ends a stream."""
    message = "EOF" if isinstance(error, MissingBody) else str(error)  # in the words clients know
    told: dict[str, Any] = {
        "type": _TYPES.get(status, "api_error"),
        "message": message,
        **advice_members(error),
    }
    if isinstance(error, InvalidRequest) and error.details:
        told["details"] = error.details
    return {
        "type": "error",
        "error": told,
        "request_id": f"req_{secrets.token_hex(12)}",
    }


ANTHROPIC = Dialect(error_body)


def error_event(error: OrchestratorError) -> bytes:
    """The last event of a stream that broke off."""
    return b"event: error\ndata: " + dumps(ANTHROPIC.record(error)) + b"\n\n"
