from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.process.address import Address, TcpAddress, UnixAddress, free_port
from orchestrator.runners.connection import AnswerCutOff, EngineUnreachable, exchange

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"


@asynccontextmanager
async def serving(address: Address, handle: Handler) -> AsyncIterator[None]:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    if isinstance(address, UnixAddress):
        server = await asyncio.start_unix_server(connected, address.path)
    else:
        server = await asyncio.start_server(connected, address.host, address.port)
    async with server:
        yield


def answering(*pieces: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return handle


@pytest.fixture(params=["unix", "tcp"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    return UnixAddress(tmp_path / "x.sock") if request.param == "unix" else TcpAddress(free_port())


async def test_a_request_and_its_answer_go_over(address: Address) -> None:
    seen = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        seen.append(await reader.readexactly(2))
        writer.write(HEAD + b"hello")

    async with serving(address, handle), exchange(address, "POST", "/x", b"hi") as answer:
        assert (answer.status, await answer.read_all()) == (200, b"hello")
    assert seen[0].startswith(b"POST /x HTTP/1.1\r\nHost: ")
    assert b"\r\nConnection: close\r\n" in seen[0]
    assert seen[1] == b"hi"


async def test_nobody_there_is_an_error(address: Address) -> None:
    with pytest.raises(EngineUnreachable):
        async with exchange(address, "GET", "/"):
            pass


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n"])
async def test_a_connection_that_ends_before_the_head_is_an_error(address: Address, sent: bytes) -> None:
    async with serving(address, answering(sent)):
        with pytest.raises(EngineUnreachable):
            async with exchange(address, "GET", "/"):
                pass


async def test_what_came_of_an_answer_that_is_cut_off_can_be_read(address: Address) -> None:
    async with serving(address, answering(HEAD + b"hel")), exchange(address, "GET", "/") as answer:
        assert await answer.read() == b"hel"
        with pytest.raises(AnswerCutOff, match="unexpected EOF"):
            await answer.read()


async def test_a_large_answer_waits_until_it_is_read(address: Address) -> None:
    size = 32 << 20
    sent = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size >> 16):
            writer.write(b"x" * (1 << 16))
            await writer.drain()
            sent += 1 << 16

    async with serving(address, handle), exchange(address, "GET", "/") as answer:
        first = len(await answer.read())
        for _ in range(200):  # whoever could send more would have done so in the meantime
            await asyncio.sleep(0)
        assert sent < size
        assert first + len(await answer.read_all()) == size


async def test_leaving_closes_the_connection_at_once(address: Address) -> None:
    left = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        left.set()

    async with serving(address, handle):
        async with exchange(address, "GET", "/"):
            pass
        await left.wait()
