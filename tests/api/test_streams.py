"""Streamed replies: what leaves together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from orchestrator.api.streams import stream_records
from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item, Usage
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
