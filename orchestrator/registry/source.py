"""Where the bytes of one blob come from: ranges of it, checked against what was asked for.

The first request finds out where the registry keeps its blobs; the later ones go there directly, until that
place does not answer any more. Source: ``store`` §6.6, §6.7.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
from yarl import URL

from orchestrator.domain.digests import Digest
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.errors import (
    BadAnswer,
    Interrupted,
    RegistryError,
    RegistryRefused,
    SizeMismatch,
)

_LEAST_BYTES = 1024
"""A connection that brings less than this in the time of a stall is stalled."""

_STALE = frozenset({400, 401, 403, 404, 410})
"""How a place that has moved, or whose signature has expired, answers."""

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_UNSATISFIED = re.compile(r"bytes \*/(\d+)")


_NEAR_RANGE_BYTES = 1 << 20
"""What is asked of a near server at one time. Megabytes may be on their way between the two, which a daemon
that is killed has to fetch again; asking often bounds that, and costs nothing where answers come at once."""

_AT_ONCE_S = 0.03
_MOST_LATE = 5
"""So many answers in a row that do not come at once: what seems near is a tunnel."""


class RangesIgnored(RegistryError):
    """The server sends the whole blob, whatever part is asked for."""

    temporary = True


class Body:
    """The bytes of an answer from ``position`` to ``end``, in pieces."""

    def __init__(
        self, response: aiohttp.ClientResponse, position: int, end: int, stall_s: float, *, is_short: bool
    ) -> None:
        self.position = position
        """Of the next byte."""
        self.end = end
        self.is_short = is_short
        """It is so much less than was asked for that going on like this would never end."""
        self._content = response.content
        self._stall_s = stall_s
        self._watched_bytes = 0
        self._deadline = 0.0

    async def read(self, limit_bytes: int) -> bytes:
        """The next bytes, at most so many; none at the end. Raises ``Interrupted`` if they do not come."""
        wanted = min(self.end - self.position, limit_bytes)
        if not wanted:
            return b""
        if not self._deadline:
            self.resume()
        try:
            async with asyncio.timeout_at(self._deadline):
                piece = await self._content.read(wanted)
        except TimeoutError as error:
            raise Interrupted(f"no data for {self._stall_s:.0f} s") from error
        if not piece:
            raise Interrupted("unexpected EOF")
        self.position += len(piece)
        self._watched_bytes += len(piece)
        if self._watched_bytes >= _LEAST_BYTES:
            self.resume()
        return piece

    def resume(self) -> None:
        """Begin to watch for a stall, as after a pause of our own."""
        self._watched_bytes = 0
        self._deadline = asyncio.get_running_loop().time() + self._stall_s


class BlobSource:
    """The ranges of one blob of a registry."""

    def __init__(self, client: RegistryClient, digest: Digest, *, stall_s: float) -> None:
        self._client = client
        self._digest = digest
        self._target = f"{client.repository}/blobs/{digest}"
        self._stall_s = stall_s
        self._direct: URL | None = None
        self._range_bytes = _NEAR_RANGE_BYTES
        self._late = 0

    async def size(self) -> int:
        """What the registry says about the size. Raises ``RegistryError``."""
        async with self._client.request("HEAD", self._target, timeout_s=self._stall_s) as response:
            length = response.headers.get("Content-Length", "")
        if not length.isdigit():
            raise BadAnswer(f"the registry does not tell the size of {self._digest}")
        return int(length)

    @asynccontextmanager
    async def open(self, position: int, end: int, total: int) -> AsyncIterator[Body]:
        """Bytes from ``position`` on, up to ``end``, or fewer, or all if ``position`` is 0.

        Raises ``RangesIgnored`` if the server sends all, but not all are wanted; also ``SizeMismatch`` and
        other ``RegistryError``.
        """
        end = min(end, position + self._range_bytes)
        headers = {} if position == 0 and end == total else {"Range": f"bytes={position}-{end - 1}"}
        asked_s = time.monotonic()
        async with self._answer(headers) as response:
            first, last = _served(response, self._digest, position, end, total)
            if first != position:
                raise RangesIgnored("the server ignores ranges")
            self._late = self._late + 1 if time.monotonic() - asked_s > _AT_ONCE_S else 0
            if self._client.is_near(response) is False or self._late >= _MOST_LATE:
                self._range_bytes = total
            yield Body(
                response, position, last, self._stall_s, is_short=last < min(end, position + _LEAST_BYTES)
            )

    @asynccontextmanager
    async def whole(self, total: int) -> AsyncIterator[Body]:
        """All bytes. Raises ``SizeMismatch`` and other ``RegistryError``."""
        async with self._answer({}) as response:
            _served(response, self._digest, 0, total, total)
            yield Body(response, 0, total, self._stall_s, is_short=False)

    def forget(self) -> None:
        """Ask the registry anew where the blob is: the place that it named gives trouble."""
        self._direct = None

    @asynccontextmanager
    async def _answer(self, headers: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        async with AsyncExitStack() as stack:
            direct = self._direct
            try:
                response = await stack.enter_async_context(self._request(direct or self._target, headers))
            except RegistryRefused as error:
                if direct is None or error.status not in _STALE:
                    raise
                self.forget()
                response = await stack.enter_async_context(self._request(self._target, headers))
            if not self._client.is_own(response.url):
                self._direct = response.url
            yield response

    @asynccontextmanager
    async def _request(
        self, target: str | URL, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self._client.request(
            "GET", target, headers=headers, accept=(200, 206, 416), timeout_s=self._stall_s
        ) as response:
            yield response


def _served(
    response: aiohttp.ClientResponse, digest: Digest, position: int, end: int, total: int
) -> tuple[int, int]:
    """The first byte that comes, and the one past the last. Raises ``BadAnswer`` or ``SizeMismatch``."""
    headers = response.headers
    if headers.get("Content-Encoding", "identity").lower() not in ("identity", ""):
        raise BadAnswer(f"the server sends {digest} in another encoding than asked for")
    length = response.content_length
    if response.status == 200:
        if length != total and response.content_type == "text/html":
            raise BadAnswer(f"{response.url.host} sends an HTML page in place of {digest}")
        if length not in (None, total):
            raise SizeMismatch(digest, stated_bytes=total, sent_bytes=length or 0)
        return 0, total
    described = headers.get("Content-Range", "")
    if response.status == 416:
        match = _UNSATISFIED.fullmatch(described)
        if match and int(match[1]) != total:
            raise SizeMismatch(digest, stated_bytes=total, sent_bytes=int(match[1]))
        raise BadAnswer(f"the server has no bytes {position}-{end - 1} of {digest}")
    match = _CONTENT_RANGE.fullmatch(described)
    if match is None:
        raise BadAnswer(f"the server sends a part of {digest} and does not say which")
    first, last = int(match[1]), int(match[2]) + 1
    if match[3] != "*" and int(match[3]) != total:
        raise SizeMismatch(digest, stated_bytes=total, sent_bytes=int(match[3]))
    if first != position or not first < last <= end or length not in (None, last - first):
        raise BadAnswer(f"asked for bytes {position}-{end - 1} of {digest}, the server sends {described!r}")
    return first, last
