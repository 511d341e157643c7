"""Requests to an engine, and its answers as they come.

::

    Channel ── exchange ──▶ Connection ──▶ Answer
       ▲                        │
       └── kept for the next ◀──┘  if a whole answer came over it, and the engine keeps it too

Leaving an exchange early closes its connection: that is how a generation is stopped. An engine keeps a thread
for each idle connection, so no more are kept than it has slots.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from orchestrator.errors import OrchestratorError, words_of
from orchestrator.process.address import Address, UnixAddress
from orchestrator.runners.http import MalformedResponse, ResponseReader

_PAUSE_BYTES = 1 << 20
"""Unread bytes beyond which the engine has to wait for us."""
_MARGIN_S = 1.0
"""How long before the engine would close an idle connection it is used no more."""


class EngineUnreachable(OrchestratorError):
    """No connection, or it ended before an answer came."""


class AnswerCutOff(OrchestratorError):
    """The connection ended in the middle of an answer."""


class Channel:
    """The way to one engine."""

    def __init__(self, address: Address, *, keep: int = 1) -> None:
        """``keep`` is how many idle connections are held at most."""
        self._address = address
        self._keep = keep
        self._keeps: bool | None = None
        """Whether this engine keeps connections, as its first answer told: not all that announce it do it."""
        self._idle: list[_Connection] = []

    @asynccontextmanager
    async def exchange(self, method: str, path: str, body: bytes = b"") -> AsyncIterator[Answer]:
        """Send a request and wait for the head of the answer.

        What is not read of the answer when the block is left is never read: the connection is closed.
        Raises ``EngineUnreachable``.
        """
        connection, answer = await self._asked(_request_head(self._address, method, path, len(body)) + body)
        try:
            yield answer
        finally:
            self._give_back(connection, answer)

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop().close()

    async def _asked(self, request: bytes) -> tuple[_Connection, Answer]:
        idle = self._usable()
        if idle is not None:
            try:
                return idle, await idle.ask(request)
            except EngineUnreachable:
                pass  # closed in this very moment; a request that the engine has begun it answers, or it dies
        fresh = await self._connected()
        return fresh, await fresh.ask(request)

    def _usable(self) -> _Connection | None:
        """The connection that was used last, if the engine still listens there."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and now < connection.idle_until:
                return connection
            connection.close()
        return None

    async def _connected(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            if isinstance(self._address, UnixAddress):
                return (await loop.create_unix_connection(_Connection, str(self._address.path)))[1]
            return (await loop.create_connection(_Connection, self._address.host, self._address.port))[1]
        except OSError as error:
            raise EngineUnreachable(words_of(error)) from error

    def _give_back(self, connection: _Connection, answer: Answer) -> None:
        if self._keeps is None and answer.is_complete:
            self._keeps = answer.kept_s > 0
        idle_s = answer.kept_s - _MARGIN_S
        if not self._keeps or idle_s <= 0 or not connection.is_open or len(self._idle) >= self._keep:
            connection.close()
            return
        connection.rest(until=asyncio.get_running_loop().time() + idle_s)
        self._idle.append(connection)


class _Connection(asyncio.Protocol):
    """One connection, and the answer that is coming over it."""

    def __init__(self) -> None:
        self.is_open = True
        self.idle_until = 0.0
        """When an idle one is to be used no more, in the event loop's time."""
        self._transport: asyncio.Transport
        self._answer: Answer | None = None

    async def ask(self, request: bytes) -> Answer:
        """Send ``request`` and wait for the head of its answer. Raises ``EngineUnreachable``."""
        self._answer = answer = Answer(self._transport)
        try:
            self._transport.write(request)
            await answer.head()
        except BaseException:
            self.close()
            raise
        return answer

    def rest(self, *, until: float) -> None:
        """The answer is over; another request may follow."""
        self._answer = None
        self.idle_until = until

    def close(self) -> None:
        """Drop whatever still comes."""
        self.is_open = False
        self._transport.abort()

    # what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by type

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.close()  # nobody asked
        else:
            self._answer.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._answer is not None:
            self._answer.end(exc)


class Answer:
    """What the engine answers, as it comes. Made by ``Channel.exchange``."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._reader = ResponseReader()
        self._pieces: list[bytes] = []
        self._unread = 0
        self._transport = transport
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._end: Exception | None = None
        """Why nothing more will come, unless the answer is complete."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._reader.status

    @property
    def is_complete(self) -> bool:
        """All of the body has come, though perhaps not been read."""
        return self._reader.complete

    @property
    def kept_s(self) -> float:
        """How long the engine keeps the connection for another request, in seconds; 0 is not at all."""
        return self._reader.kept_s

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
        if self._paused:
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

    def feed(self, data: bytes) -> None:
        """``data`` has come."""
        try:
            self._pieces += self._reader.feed(data)
        except MalformedResponse as error:
            self._end = error
        self._unread += len(data)
        if self._unread > _PAUSE_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def end(self, exc: Exception | None) -> None:
        """The connection has ended, because of ``exc`` if it was not closed in order."""
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


def _request_head(address: Address, method: str, path: str, body_size: int) -> bytes:
    host = "localhost" if isinstance(address, UnixAddress) else str(address)
    return (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {body_size}\r\n\r\n"
    ).encode()
