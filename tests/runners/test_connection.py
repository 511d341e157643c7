from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.process.address import Address, TcpAddress, UnixAddress, free_port
from orchestrator.runners.connection import AnswerCutOff, Channel, EngineUnreachable

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

    async with serving(address, handle), Channel(address).exchange("POST", "/x", b"hi") as answer:
        assert (answer.status, await answer.read_all()) == (200, b"hello")
    assert seen[0].startswith(b"POST /x HTTP/1.1\r\nHost: ")
    assert seen[1] == b"hi"


async def test_nobody_there_is_an_error(address: Address) -> None:
    with pytest.raises(EngineUnreachable):
        async with Channel(address).exchange("GET", "/"):
            pass


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n"])
async def test_a_connection_that_ends_before_the_head_is_an_error(address: Address, sent: bytes) -> None:
    async with serving(address, answering(sent)):
        with pytest.raises(EngineUnreachable):
            async with Channel(address).exchange("GET", "/"):
                pass


async def test_what_came_of_an_answer_that_is_cut_off_can_be_read(address: Address) -> None:
    async with serving(address, answering(HEAD + b"hel")), Channel(address).exchange("GET", "/") as answer:
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

    async with serving(address, handle), Channel(address).exchange("GET", "/") as answer:
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
        async with Channel(address).exchange("GET", "/"):
            pass
        await left.wait()


class Counted:
    """Answers requests on every connection until it is told to close, and counts both."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.connections = 0
        self.requests = 0
        self.closed = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                answer = self.answers.pop(0)
                if not answer:
                    break
                writer.write(answer)
                await writer.drain()
        self.closed.set()


def reply(*fields: str, body: bytes = b"hello", length: bool = True) -> bytes:
    lines = ["HTTP/1.1 200 OK", *fields, *([f"Content-Length: {len(body)}"] if length else [])]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


KEPT = reply("Keep-Alive: timeout=5, max=100")
CHUNKED = reply("Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n", length=False)


async def asked(channel: Channel) -> bytes:
    async with channel.exchange("GET", "/") as answer:
        return await answer.read_all()


@pytest.mark.parametrize("answer", [KEPT, CHUNKED, reply()])
async def test_a_connection_that_carried_a_whole_answer_carries_the_next(
    address: Address, answer: bytes
) -> None:
    server, channel = Counted(answer, answer, answer), Channel(address)
    async with serving(address, server):
        assert [await asked(channel) for _ in range(3)] == [b"hello"] * 3
        channel.close()
        await server.closed.wait()
    assert (server.connections, server.requests) == (1, 3)


@pytest.mark.parametrize(
    "answer",
    [
        reply("Connection: close"),
        reply("Keep-Alive: timeout=1"),
        reply().replace(b"HTTP/1.1", b"HTTP/1.0"),
        reply() + b"and more",
        CHUNKED + b"and more",
    ],
)
async def test_a_connection_that_may_end_or_is_out_of_step_is_not_kept(
    address: Address, answer: bytes
) -> None:
    server, channel = Counted(answer, answer), Channel(address)
    async with serving(address, server):
        assert [await asked(channel) for _ in range(2)] == [b"hello"] * 2
    assert server.connections == 2


async def test_an_engine_that_closes_after_its_first_answer_is_believed_to_do_so_always(
    address: Address,
) -> None:
    server, channel = Counted(reply("Connection: close"), KEPT, KEPT), Channel(address)
    async with serving(address, server):
        assert [await asked(channel) for _ in range(3)] == [b"hello"] * 3
    assert server.connections == 3


async def test_an_answer_that_is_left_early_ends_its_connection(address: Address) -> None:
    server, channel = Counted(KEPT[:-1], KEPT), Channel(address)
    async with serving(address, server):
        async with channel.exchange("GET", "/") as answer:
            assert await answer.read() == b"hell"
        await server.closed.wait()
        assert await asked(channel) == b"hello"
        channel.close()
    assert server.connections == 2


async def test_a_connection_that_the_engine_has_closed_meanwhile_is_no_failure(address: Address) -> None:
    server, channel = Counted(KEPT, b"", KEPT), Channel(address)
    async with serving(address, server):
        assert await asked(channel) == b"hello"
        assert await asked(channel) == b"hello"
        channel.close()
    assert (server.connections, server.requests) == (2, 3)


async def test_an_engine_that_has_gone_meanwhile_is_unreachable(address: Address) -> None:
    server, channel = Counted(KEPT), Channel(address)
    async with serving(address, server):
        assert await asked(channel) == b"hello"
    server.answers = [b""]
    with pytest.raises(EngineUnreachable):
        await asked(channel)


async def test_no_more_connections_are_kept_than_wanted(address: Address) -> None:
    server, channel = Counted(*[KEPT] * 6), Channel(address, keep=2)
    async with serving(address, server):
        async with channel.exchange("GET", "/"), channel.exchange("GET", "/"), channel.exchange("GET", "/"):
            assert server.connections == 3
        async with channel.exchange("GET", "/"), channel.exchange("GET", "/"), channel.exchange("GET", "/"):
            pass
        channel.close()
    assert server.connections == 4
