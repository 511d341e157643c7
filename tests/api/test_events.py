"""Event streams: errors before and after the first record, and what happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from orchestrator.api.events import LifeSign, stream_events
from orchestrator.errors import NotFound, OrchestratorError, RunnerFailed

Records = Callable[[], AsyncGenerator[bytes]]

SIGN = b": alive\n\n"


@asynccontextmanager
async def streaming(
    records: Records, *, interval_s: float = 0.0, headers: Mapping[str, str] | None = None
) -> AsyncIterator[ClientResponse]:
    """The reply of a server that streams ``records``."""

    def error_record(error: OrchestratorError) -> bytes:
        return b"error: " + str(error).encode() + b"\n\n"

    async def handler(request: web.Request) -> web.StreamResponse:
        try:
            return await stream_events(
                request,
                records(),
                error_record=error_record,
                life_sign=LifeSign(SIGN, interval_s),
                headers={} if headers is None else headers,
            )
        except OrchestratorError as error:
            return web.Response(status=404, text=str(error))

    app = web.Application()
    app.router.add_get("/", handler)
    async with TestClient(TestServer(app)) as client, client.get("/") as response:
        yield response


async def test_records_come_as_they_are() -> None:
    async def records() -> AsyncGenerator[bytes]:
        yield b"data: 1\n\n"
        yield b"data: 2\n\n"

    async with streaming(records, headers={"X": "y"}) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["X"] == "y"
        assert await response.read() == b"data: 1\n\ndata: 2\n\n"


async def test_headers_may_be_added_until_the_first_record() -> None:
    headers: dict[str, str] = {}

    async def records() -> AsyncGenerator[bytes]:
        headers["Told"] = "early"
        yield b"data: 1\n\n"
        headers["Lost"] = "late"

    async with streaming(records, headers=headers) as response:
        assert response.headers["Told"] == "early"
        assert "Lost" not in response.headers


async def test_what_fails_before_the_first_record_is_an_ordinary_error() -> None:
    async def records() -> AsyncGenerator[bytes]:
        raise NotFound("no such model")
        yield b""

    for interval_s in (0.0, 60.0):
        async with streaming(records, interval_s=interval_s) as response:
            assert response.status == 404
            assert await response.text() == "no such model"


async def test_what_fails_later_is_the_last_record() -> None:
    async def records() -> AsyncGenerator[bytes]:
        yield b"data: 1\n\n"
        raise RunnerFailed("engine gone")

    async with streaming(records) as response:
        assert response.status == 200
        assert await response.read() == b"data: 1\n\nerror: engine gone\n\n"


async def test_a_fault_of_ours_tells_the_client_no_details() -> None:
    async def records() -> AsyncGenerator[bytes]:
        yield b"data: 1\n\n"
        raise KeyError("secret")

    async with streaming(records) as response:
        assert await response.read() == b"data: 1\n\nerror: internal error, see the server's log\n\n"


async def test_a_stream_without_records_is_empty() -> None:
    async def records() -> AsyncGenerator[bytes]:
        return
        yield b""

    async with streaming(records) as response:
        assert response.status == 200
        assert await response.read() == b""


async def test_silence_is_broken_until_the_first_record_and_between_records() -> None:
    released = asyncio.Event()

    async def records() -> AsyncGenerator[bytes]:
        await released.wait()
        released.clear()
        yield b"data: 1\n\n"
        await released.wait()
        raise NotFound("too late for a status")

    async with streaming(records, interval_s=0.001) as response:
        assert response.status == 200
        assert await response.content.readexactly(len(SIGN)) == SIGN
        released.set()
        seen = await response.content.readuntil(b"data: 1\n\n")
        assert seen.replace(SIGN, b"") == b"data: 1\n\n"
        assert await response.content.readexactly(len(SIGN)) == SIGN
        released.set()
        rest = await response.content.read()
        assert rest.replace(SIGN, b"") == b"error: too late for a status\n\n"


async def test_records_are_closed_when_the_client_leaves() -> None:
    closed = asyncio.Event()

    async def records() -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"data: 1\n\n" * 100
        finally:
            closed.set()

    async with streaming(records) as response:
        await response.content.readany()
        response.close()
        async with asyncio.timeout(10):
            await closed.wait()
