"""Streamed replies: what leaves together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from orchestrator.api.native.progress import progress_reply
from orchestrator.api.streams import StreamedReply, stream_records
from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item, Usage
from orchestrator.domain.progress import Progress
from orchestrator.errors import OrchestratorError

END = Done(DoneReason.STOP, Usage())


async def written(batches: Sequence[Sequence[Item]]) -> list[bytes]:
    """What a server writes for ``batches`` of a generation, each write by itself."""
    writes: list[bytes] = []

    async def items() -> AsyncIterator[Sequence[Item]]:
        for batch in batches:
            yield batch

    def encode(batch: Sequence[Item]) -> bytes:
        return b"".join(item.content.encode() if isinstance(item, Chunk) else b"end" for item in batch)

    def error_record(error: OrchestratorError) -> bytes:
        return str(error).encode()

    async def handler(request: web.Request) -> web.StreamResponse:
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        write = transport.write

        def noted(data: bytes | bytearray | memoryview) -> None:
            writes.append(bytes(data))
            write(data)

        transport.write = noted  # type: ignore[method-assign]
        return await stream_records(
            request, items(), encode, content_type="text/plain", error_record=error_record
        )

    app = web.Application()
    app.router.add_get("/", handler)
    async with TestClient(TestServer(app)) as client, client.get("/") as response:
        await response.read()
    return writes


@pytest.mark.parametrize(
    ("batches", "ends"),
    [
        ([[Chunk("a"), Chunk("b"), END]], [b"\r\n\r\n5\r\nabend\r\n0\r\n\r\n"]),
        ([[Chunk("a")], [Chunk("b"), END]], [b"\r\n\r\n1\r\na\r\n", b"4\r\nbend\r\n0\r\n\r\n"]),
        ([], [b"\r\n\r\n0\r\n\r\n"]),
    ],
)
async def test_the_head_leaves_with_the_first_batch_and_the_end_with_the_last(
    batches: Sequence[Sequence[Item]], ends: list[bytes]
) -> None:
    writes = await written(batches)
    assert len(writes) == len(ends)
    assert writes[0].startswith(b"HTTP/1.1 200 OK\r\n")
    assert all(write.endswith(end) for write, end in zip(writes, ends, strict=True))


PATIENCE_S = 10.0


async def raw_reply(handler: Callable[[web.Request], Awaitable[web.StreamResponse]], head: str) -> str:
    """All that comes back for a request with that ``head``, until the server closes the connection."""
    app = web.Application()
    app.router.add_get("/", handler)
    async with TestServer(app) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(f"GET / {head}\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE_S):
            reply = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
    return reply


@pytest.mark.parametrize("head", ["HTTP/1.0", "HTTP/1.0\r\nConnection: keep-alive"])
async def test_for_a_client_without_chunks_the_reply_ends_with_the_connection(head: str) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        reply = StreamedReply(headers={"Connection": "keep-alive"})
        await reply.prepare(request)
        await reply.write(b"one ")
        await reply.write_eof(b"two")
        return reply

    lines, _, body = (await raw_reply(handler, head)).partition("\r\n\r\n")
    assert lines.startswith("HTTP/1.0 200 OK")
    assert "keep-alive" not in lines
    assert "Transfer-Encoding" not in lines
    assert body == "one two"


async def test_a_promise_to_keep_the_connection_gives_way_to_the_client() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        reply = StreamedReply(headers={"Connection": "keep-alive"})
        await reply.prepare(request)
        await reply.write_eof(b"one")
        return reply

    lines = await raw_reply(handler, "HTTP/1.1\r\nHost: x\r\nConnection: close")
    assert "\r\nConnection: close\r\n" in lines
    assert "\r\nTransfer-Encoding: chunked\r\n" in lines
    assert "keep-alive" not in lines


async def test_progress_is_told_to_a_client_without_chunks() -> None:
    async def steps() -> AsyncGenerator[Progress]:
        yield Progress("one")
        yield Progress("two")

    async def handler(request: web.Request) -> web.StreamResponse:
        return await progress_reply(request, steps(), stream=True)

    lines, _, body = (await raw_reply(handler, "HTTP/1.0")).partition("\r\n\r\n")
    assert lines.startswith("HTTP/1.0 200 OK")
    assert body == '{"status":"one"}\n{"status":"two"}\n'
