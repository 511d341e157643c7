"""Writing a running generation to a client.

The first batch is awaited before the status line goes out, so what fails early is an ordinary error reply;
what fails later becomes the dialect's last record. All records of a batch leave in one write.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter

from orchestrator.domain.chunks import Done, Item
from orchestrator.errors import OrchestratorError

logger = logging.getLogger(__name__)


HUNG_UP = web.RequestKey("hung up", int)
"""The status of a reply that we broke off; the connection ends as if the client had left."""


def hang_up(request: web.Request, response: web.StreamResponse) -> None:
    """Break off a reply of a length that was announced: there is no other way to say that no more comes."""
    request[HUNG_UP] = response.status
    response.force_close()
    if request.transport is not None:
        request.transport.abort()


class StreamedReply(web.StreamResponse):
    """A reply whose head leaves with its first record, in one write.

    It comes in chunks. Clients of HTTP/1.0, as many proxies are, know none: theirs ends with the connection.
    """

    _send_headers_immediately = False

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Settle how the reply will end."""
        if request.version < HttpVersion11 or not request.keep_alive:
            self.force_close()
            self.headers.popall("Connection", None)  # a dialect may have promised to keep it
        return await super().prepare(request)


class OurFault(OrchestratorError):
    """What a client is told of an error that nobody foresaw."""

    def __init__(self) -> None:
        super().__init__("internal error, see the server's log")


async def stream_records(
    request: web.Request,
    items: AsyncIterator[Sequence[Item]],
    encode: Callable[[Sequence[Item]], bytes],
    *,
    content_type: str,
    error_record: Callable[[OrchestratorError], bytes],
    headers: Mapping[str, str] | None = None,
) -> web.StreamResponse:
    """Send ``items`` as they come. Raises what is raised before the first of them."""
    first = await anext(items, None)
    batch: Sequence[Item] = first or ()
    response = StreamedReply(headers={"Content-Type": content_type, **(headers or {})})
    await response.prepare(request)
    try:
        if batch:
            await _send(response, batch, encode)
        async for batch in items:
            await _send(response, batch, encode)
    except ConnectionResetError:
        logger.debug("client left while it was answered")
    except OrchestratorError as error:
        logger.warning("reply broke off: %s", error)
        await _last_words(response, batch, error_record(error))
    except Exception:
        logger.exception("reply broke off by a fault of ours")
        await _last_words(response, batch, error_record(OurFault()))
    else:
        await response.write_eof()
    return response


async def gathered(items: AsyncIterator[Sequence[Item]]) -> list[Item]:
    """All items of a generation, for a reply in one piece."""
    return [item async for batch in items for item in batch]


async def _send(
    response: web.StreamResponse, batch: Sequence[Item], encode: Callable[[Sequence[Item]], bytes]
) -> None:
    """Write one batch; the last one and the end of the reply leave together."""
    await (response.write_eof if _is_last(batch) else response.write)(encode(batch))


def _is_last(batch: Sequence[Item]) -> bool:
    return bool(batch) and isinstance(batch[-1], Done)


async def _last_words(response: web.StreamResponse, batch: Sequence[Item], record: bytes) -> None:
    """Tell why the reply breaks off, unless all of it has gone out with the latest batch."""
    if _is_last(batch):
        return
    try:
        await response.write(record)
        await response.write_eof()
    except ConnectionResetError:
        logger.debug("client left before the error reached it")
