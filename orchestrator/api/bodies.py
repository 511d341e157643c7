"""Reading request bodies, within limits of size and of patience."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from aiohttp import web

from orchestrator.api.errors import BodyTooLarge, BodyTooSlow
from orchestrator.errors import RequestCanceled
from orchestrator.wire.model import Wire, decode_body

M = TypeVar("M", bound=Wire)

PATIENCE_S = 300.0
"""How long a body other than an upload may take to arrive."""


async def read_body(request: web.Request) -> bytes:
    """The whole body.

    Raises ``BodyTooLarge``, ``BodyTooSlow``, or ``RequestCanceled`` when the client left.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise BodyTooLarge(request.client_max_size) from error
    except TimeoutError as error:
        raise BodyTooSlow(PATIENCE_S) from error
    except (ConnectionError, web.RequestPayloadError) as error:
        raise RequestCanceled from error


async def read(request: web.Request, model: type[M]) -> M:
    """The body as ``model``. Raises what ``read_body`` and ``decode_body`` raise."""
    return decode_body(await read_body(request), model)
