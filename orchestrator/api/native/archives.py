"""``/api/export`` and ``/api/import``: a model as one file, for machines without network.

These routes are our own; Ollama has none like them.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing

from aiohttp import web

from orchestrator.api.bodies import pieces, read
from orchestrator.api.native.progress import Steps, progress_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.api.streams import hang_up
from orchestrator.domain.names import ModelName, ModelReference
from orchestrator.domain.progress import Progress
from orchestrator.errors import OrchestratorError
from orchestrator.inference.errors import ModelRequired
from orchestrator.process.cleanup import to_the_end
from orchestrator.process.stepping import stepped
from orchestrator.store.archive import PIECE_BYTES, Export, Import
from orchestrator.wire import upkeep as wire

logger = logging.getLogger(__name__)

TAR = "application/x-tar"


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def export(request: web.Request) -> web.StreamResponse:
        body = await read(request, wire.ExportRequest)
        if not body.model.strip():
            raise ModelRequired
        name = ModelName.parse(ModelReference.parse(body.model).base)
        return await _exported(request, state, await asyncio.to_thread(Export, state.models, name))

    async def take(request: web.Request) -> web.StreamResponse:
        stream = request.query.get("stream") != "false"
        return await progress_reply(request, _imported(request, state), stream=stream)

    return (Route("POST", "/api/export", export), Route("POST", "/api/import", take))


async def _exported(request: web.Request, state: AppState, export: Export) -> web.StreamResponse:
    """The archive, of the length that is announced; one that broke off is shorter."""
    response = web.StreamResponse(headers={"Content-Type": TAR})
    response.content_length = export.size_bytes
    async with state.models.held([blob.digest for blob in export.blobs]):
        await response.prepare(request)
        try:
            async with aclosing(stepped(export.pieces())) as content:
                async for piece in content:
                    await response.write(piece)
        except ConnectionResetError:
            logger.debug("client left before the archive was complete")
            return response
        except OrchestratorError as error:
            logger.error("export of %s broke off: %s", export.stored.name.short, error)
        except Exception:
            logger.exception("export of %s broke off by a fault of ours", export.stored.name.short)
        else:
            await response.write_eof()
            return response
    hang_up(request, response)
    return response


async def _imported(request: web.Request, state: AppState) -> Steps:
    """Take the body as it comes. A client that leaves, or sends nonsense, leaves nothing behind."""
    taking = Import(state.models)
    try:
        async with aclosing(pieces(request)) as body:
            try:
                pending = bytearray()
                async for piece in body:
                    pending += piece
                    if len(pending) >= PIECE_BYTES:
                        for step in await to_the_end(asyncio.to_thread(taking.feed, bytes(pending))):
                            yield step
                        pending.clear()
                for step in await to_the_end(asyncio.to_thread(taking.feed, bytes(pending))):
                    yield step
                await to_the_end(asyncio.to_thread(taking.check))
                yield Progress("writing manifest")
                names = await to_the_end(asyncio.to_thread(taking.finish))
            except OrchestratorError:
                async for _ in body:  # a client that still sends would not hear of it
                    pass
                raise
    finally:
        await to_the_end(asyncio.to_thread(taking.close))
    yield wire.ImportResponse(status="success", models=[name.short for name in names])
