"""Reading request bodies, within limits of size and of patience."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import TypeVar

from aiohttp import web

from orchestrator.api.compression import Undecompressable, unpacked
from orchestrator.api.errors import BodyTooLarge, BodyTooSlow, OutsideDialect
from orchestrator.errors import RequestCanceled
from orchestrator.wire.model import Wire, decode_body

M = TypeVar("M", bound=Wire)

PATIENCE_S = 300.0
"""How long a body may take to arrive, or the next piece of an upload."""


async def read(request: web.Request, model: type[M]) -> M:
    """The body as ``model``. Raises what ``read_body`` and ``decode_body`` raise."""
    body, _ = await read_noting(request, model)
    return body


async def read_noting(
    request: web.Request, model: type[M], *, packed: bool = False
) -> tuple[M, tuple[str, ...]]:
    """The same, and the keys that ``model`` does not know; ``packed`` bodies may be compressed.

    Raises ``OutsideDialect`` for one that is badly compressed.
    """
    raw = await read_body(request)
    if packed and request.headers.get("Content-Encoding") == "zstd":
        try:
            raw = await asyncio.to_thread(unpacked, raw)
        except Undecompressable as error:
            raise OutsideDialect(error) from error
    return decode_body(raw, model)


async def read_body(request: web.Request, *, patience_s: float = PATIENCE_S) -> bytes:
    """The whole body.

    Raises ``BodyTooLarge``, ``BodyTooSlow``, or ``RequestCanceled`` when the client left.
    """
    if (request.content_length or 0) > request.client_max_size > 0:
        raise BodyTooLarge(request.client_max_size)  # there is no need to wait for what is announced
    with _translated(patience_s):
        try:
            if request.content.is_eof():
                return await request.read()  # it is all there
            async with asyncio.timeout(patience_s):
                return await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            raise BodyTooLarge(request.client_max_size) from error


async def pieces(request: web.Request, *, patience_s: float = PATIENCE_S) -> AsyncGenerator[bytes, None]:
    """A body of any size as it arrives. Raises ``BodyTooSlow``, ``RequestCanceled``."""
    while True:
        with _translated(patience_s):
            async with asyncio.timeout(patience_s):
                piece = await request.content.readany()
        if not piece:
            return
        yield piece


@contextmanager
def _translated(patience_s: float) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise BodyTooSlow(patience_s) from error
    except (ConnectionError, web.RequestPayloadError) as error:
        raise RequestCanceled from error
