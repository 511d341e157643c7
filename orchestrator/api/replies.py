"""Replies in one piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web

from orchestrator.wire.json import dumps

if TYPE_CHECKING:
    from orchestrator.wire.model import Wire

JSON = "application/json; charset=utf-8"
PLAIN_JSON = "application/json"
"""The type of final objects and errors that a stream would have carried."""
NDJSON = "application/x-ndjson"
TEXT = "text/plain"


def json_reply(
    value: Wire | dict[str, Any],
    *,
    status: int = 200,
    content_type: str = JSON,
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """``value`` as one JSON document."""
    body = dumps(value if isinstance(value, dict) else value.model_dump())
    return web.Response(body=body, status=status, headers={"Content-Type": content_type, **(headers or {})})


def text_reply(text: str, *, status: int = 200, content_type: str = TEXT) -> web.Response:
    """A short text."""
    return web.Response(body=text.encode(), status=status, headers={"Content-Type": content_type})


def empty_reply(status: int = 200) -> web.Response:
    """A status without a body."""
    return web.Response(status=status)
