"""Errors as clients of the OpenAI API read them. Source: ``api-compat`` §1.3."""

from __future__ import annotations

from typing import Any

from orchestrator.api.errors import Dialect, advice_members
from orchestrator.errors import BadRequest, OrchestratorError
from orchestrator.wire.json import dumps

NO_WORDS = "something went wrong, please see the ollama server logs for details"
"""What is said of an error that has no words of its own."""

_TYPES = {400: "invalid_request_error", 404: "not_found_error"}


class Unsupported(BadRequest):
    """A field of the API that cannot be honoured, and must not be passed over."""


def error_body(error: OrchestratorError, status: int) -> dict[str, Any]:
    """The error object of a reply."""
    kind = _TYPES.get(status, "api_error")
    told = {"message": str(error) or NO_WORDS, "type": kind, "param": None, "code": None}
    return {"error": told | advice_members(error)}


OPENAI = Dialect(error_body)


def error_event(error: OrchestratorError) -> bytes:
    """The last event of a stream that broke off: clients raise it, and no ``[DONE]`` follows."""
    return b"data: " + dumps(OPENAI.record(error)) + b"\n\n"
