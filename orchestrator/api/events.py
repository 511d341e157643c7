"""Event streams: the replies of dialects whose records are server-sent events.

Nothing is sent before the first record is there, so what fails early is an ordinary error reply. Only when
that takes longer than the client may like to wait (the model is queued for, loads, or reads a long prompt)
a sign of life goes out, and the headers with it; the same happens in later silence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from aiohttp import web

from orchestrator.api.streams import OurFault, StreamedReply
from orchestrator.errors import OrchestratorError

logger = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
STREAM_HEADERS = {"Cache-Control": "no-cache", "Connection": "keep-alive"}
"""What some dialects add to a stream, and to the refusal that comes in place of one."""


@dataclass(frozen=True, slots=True)
class LifeSign:
    """What tells a client that its answer is still on the way."""

    record: bytes = b": still working\n\n"
    """A comment, which every reader of events passes over."""
    interval_s: float = 0.0
    """The longest silence; 0 is any."""


async def stream_events(
    request: web.Request,
    records: AsyncGenerator[bytes],
    *,
    error_record: Callable[[OrchestratorError], bytes],
    life_sign: LifeSign,
    headers: Mapping[str, str],
) -> web.StreamResponse:
    """Send ``records`` as they come, each in one write; they are closed in any case.

    ``headers`` are read when the first record is there: whoever makes the records may add some until then.
    Raises what is raised before anything was sent; a later error becomes ``error_record``.
    """
    stream = _Stream(request, headers)
    async with aclosing(records):
        if life_sign.interval_s <= 0:
            failure = await _send(stream, records, error_record)
        else:
            async with asyncio.TaskGroup() as group:
                signs = group.create_task(_show_life(stream, life_sign))
                failure = await _send(stream, records, error_record)
                signs.cancel()
    if failure is not None:
        raise failure
    return stream.response


class _Stream:
    """A response whose headers go out with its first bytes."""

    def __init__(self, request: web.Request, headers: Mapping[str, str]) -> None:
        self._request = request
        self._headers = headers
        self._starting = asyncio.Lock()
        self.response = StreamedReply()
        self.writes = 0

    @property
    def has_started(self) -> bool:
        return self.response.prepared

    async def write(self, data: bytes) -> None:
        """Raises ``ConnectionResetError`` when the client has left."""
        self.writes += 1
        if not self.response.prepared:
            await self._start()
        await self.response.write(data)

    async def end(self) -> None:
        """A stream without a single record is an empty reply."""
        if not self.response.prepared:
            await self._start()
        await self.response.write_eof()

    async def _start(self) -> None:
        async with self._starting:
            if self.response.prepared:
                return
            self.response.headers.update({"Content-Type": EVENT_STREAM, **self._headers})
            await self.response.prepare(self._request)


async def _send(
    stream: _Stream, records: AsyncIterator[bytes], error_record: Callable[[OrchestratorError], bytes]
) -> Exception | None:
    """All records and the end of the stream; what failed before anything was sent is returned."""
    try:
        async for record in records:
            await stream.write(record)
        await stream.end()
    except ConnectionResetError:
        logger.debug("client left while it was answered")
    except OrchestratorError as error:
        if not stream.has_started:
            return error
        logger.warning("reply broke off: %s", error)
        await _last_words(stream, error_record(error))
    except Exception as error:
        if not stream.has_started:
            return error
        logger.exception("reply broke off by a fault of ours")
        await _last_words(stream, error_record(OurFault()))
    return None


async def _last_words(stream: _Stream, record: bytes) -> None:
    try:
        await stream.write(record)
        await stream.end()
    except ConnectionResetError:
        logger.debug("client left before the error reached it")


async def _show_life(stream: _Stream, sign: LifeSign) -> None:
    """A sign of life for each interval in which nothing was written."""
    while True:
        seen = stream.writes
        await asyncio.sleep(sign.interval_s)
        if stream.writes != seen:
            continue
        try:
            await stream.write(sign.record)
        except ConnectionResetError:
            return
