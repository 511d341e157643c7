"""Replies of calls that take long and tell how far they are: create, pull, push, and upkeep of the store.

Source: ``api-native`` §2.5, §3.2.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from orchestrator.api.errors import NATIVE, native_line
from orchestrator.api.native.convert import from_progress
from orchestrator.api.replies import NDJSON, PLAIN_JSON, json_reply
from orchestrator.api.streams import OurFault, StreamedReply
from orchestrator.domain.progress import Progress
from orchestrator.errors import OrchestratorError
from orchestrator.wire.model import Wire, encode

logger = logging.getLogger(__name__)

Step = Progress | Wire
"""What is told: how far the work is, or a record of its own form."""

Steps = AsyncGenerator[Step, None]


async def progress_reply(request: web.Request, steps: Steps, *, stream: bool) -> web.StreamResponse:
    """Each step on a line of its own, or only the last one when the client wants no stream."""
    async with aclosing(steps):
        try:
            first = await anext(steps)
            if not stream:
                return json_reply(_record(await _last(first, steps)), content_type=PLAIN_JSON)
        except OrchestratorError as error:
            return NATIVE.reply(error, content_type=PLAIN_JSON)
        return await _streamed(request, first, steps)


async def _last(first: Step, steps: Steps) -> Step:
    last = first
    async for step in steps:
        last = step
    return last


async def _streamed(request: web.Request, first: Step, steps: Steps) -> web.StreamResponse:
    response = StreamedReply(headers={"Content-Type": NDJSON})
    await response.prepare(request)
    try:
        await response.write(_line(first))
        async for step in steps:
            await response.write(_line(step))
    except OrchestratorError as error:
        logger.warning("%s failed: %s", request.path, error)
        await response.write(native_line(error))
    except ConnectionResetError:
        logger.debug("client left before the work was done")
        return response
    except Exception:
        logger.exception("%s failed by a fault of ours", request.path)
        await response.write(native_line(OurFault()))
    await response.write_eof()
    return response


def _line(step: Step) -> bytes:
    return encode(_record(step)) + b"\n"


def _record(step: Step) -> Wire:
    return from_progress(step) if isinstance(step, Progress) else step
