"""A web proxy on a loopback port. Every host it is asked for is on this machine, whatever its name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class ForwardProxy:
    """The proxy and what was asked of it: the first lines of requests."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.passwords: list[str] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[ForwardProxy]:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        onward: asyncio.StreamWriter | None = None
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, _, rest = head.partition("\r\n")
                self.lines.append(line)
                self.passwords += [
                    field for field in rest.split("\r\n") if field.lower().startswith("proxy-authorization")
                ]
                method, target, version = line.split(" ")
                place = urlsplit(f"//{target}" if method == "CONNECT" else target)
                back, onward = await asyncio.open_connection("127.0.0.1", place.port or 80)
                if method == "CONNECT":
                    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    path = f"{place.path}?{place.query}" if place.query else place.path
                    onward.write(
                        f"{method} {path} {version}\r\nConnection: close\r\n{rest}".encode("latin-1")
                    )
                async with asyncio.TaskGroup() as group:
                    group.create_task(_copy(reader, onward))
                    group.create_task(_copy(back, writer))
        finally:
            writer.close()
            if onward is not None:
                onward.close()
            self._tasks.discard(task)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()
