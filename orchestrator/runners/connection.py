"""One request to an engine, and its answer, on a connection of its own.

Connections are not kept: closing one is how a generation is stopped, an engine keeps a thread for each
idle one, and a new one to a Unix socket costs less than asking whether an old one still lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from orchestrator.errors import OrchestratorError
from orchestrator.process.address import Address, UnixAddress
from orchestrator.runners.http import MalformedResponse, ResponseReader

_PAUSE_BYTES = 1 << 20
"""Unread bytes beyond which the engine has to wait for us."""


class EngineUnreachable(OrchestratorError):
    """No connection, or it ended before an answer came."""


class AnswerCutOff(OrchestratorError):
    """The connection ended in the middle of an answer."""


class Answer(asyncio.Protocol):
    """What the engine answers, as it comes. Made by ``exchange``."""

    def __init__(self) -> None:
        self._reader = ResponseReader()
        self._pieces: list[bytes] = []
        self._unread = 0
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._end: Exception | None = None
        """Why nothing more will come, unless the answer is complete."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._reader.status

    async def read(self) -> bytes:
        """What has arrived of the body, at least one byte; empty at its end. Raises ``AnswerCutOff``."""
        while not self._pieces:
            if self._reader.complete:
                return b""
            if self._end is not None:
                raise AnswerCutOff(str(self._end)) from self._end
            await self._something()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._unread = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def read_all(self) -> bytes:
        """The rest of the body. Raises ``AnswerCutOff``."""
        pieces = []
        while data := await self.read():
            pieces.append(data)
        return b"".join(pieces)

    async def head(self) -> None:
        """Wait for the status. Raises ``EngineUnreachable``."""
        while not self._reader.status:
            if self._end is not None:
                raise EngineUnreachable(str(self._end)) from self._end
            await self._something()

    # what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by type

    def data_received(self, data: bytes) -> None:
        try:
            self._pieces += self._reader.feed(data)
        except MalformedResponse as error:
            self._end = error
        self._unread += len(data)
        if self._unread > _PAUSE_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._reader.end()
        self._end = self._end or exc or EOFError("unexpected EOF")
        self._wake()

    async def _something(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


@asynccontextmanager
async def exchange(address: Address, method: str, path: str, body: bytes = b"") -> AsyncIterator[Answer]:
    """Send a request and wait for the head of the answer; on leaving, the connection is closed at once.

    Raises ``EngineUnreachable``.
    """
    loop = asyncio.get_running_loop()
    transport: asyncio.Transport
    try:
        if isinstance(address, UnixAddress):
            transport, answer = await loop.create_unix_connection(Answer, str(address.path))
        else:
            transport, answer = await loop.create_connection(Answer, address.host, address.port)
    except OSError as error:
        raise EngineUnreachable(str(error)) from error
    try:
        transport.write(_request_head(address, method, path, len(body)) + body)
        await answer.head()
        yield answer
    finally:
        transport.abort()


def _request_head(address: Address, method: str, path: str, body_size: int) -> bytes:
    host = "localhost" if isinstance(address, UnixAddress) else str(address)
    return (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {body_size}\r\n\r\n"
    ).encode()
