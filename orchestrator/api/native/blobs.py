"""``/api/blobs/{digest}``: uploads of files to make models of.

Source: ``api-native`` §9.10, ``store`` §11.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from aiohttp import web

from orchestrator.api.bodies import pieces
from orchestrator.api.replies import empty_reply
from orchestrator.api.routing import Route, parameter
from orchestrator.api.state import AppState
from orchestrator.domain.digests import Digest
from orchestrator.errors import NotFound
from orchestrator.store.blobs import BlobStore


class BlobNotFound(NotFound):
    """No such blob."""

    def __init__(self, text: str) -> None:
        super().__init__(f'blob "{text}" not found')


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""
    blobs = state.models.blobs

    async def head(request: web.Request) -> web.Response:
        text = parameter(request)
        if not await asyncio.to_thread(blobs.exists, Digest.parse(text)):
            raise BlobNotFound(text)
        return empty_reply()

    async def post(request: web.Request) -> web.Response:
        text = parameter(request)
        digest = Digest.parse(text)
        if await asyncio.to_thread(_touched, blobs, digest):
            return empty_reply()
        await _store(request, blobs, text)
        return empty_reply(201)

    return (Route("POST", "/api/blobs/{digest}", post), Route("HEAD", "/api/blobs/{digest}", head))


def _touched(blobs: BlobStore, digest: Digest) -> bool:
    """Whether the blob is there; if so it is kept from pruning until a model refers to it."""
    if not blobs.exists(digest):
        return False
    blobs.touch(digest)
    return True


async def _store(request: web.Request, blobs: BlobStore, expected: str) -> None:
    """Write the body, as long as it may be. What is incomplete leaves nothing behind."""
    async with (
        blobs.writer(size_bytes=request.content_length or 0) as writer,
        aclosing(pieces(request)) as body,
    ):
        async for piece in body:
            await writer.write(piece)
        await writer.commit(expected)
