"""Sending one blob to a registry: in parts, or whole where a registry wants that.

How the parts travel is the registry's choice, told by its answer to each: taken as they come, one after the
other, or sent on to a store of its own, and then many at once. Source: ``store`` §8.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

import aiohttp
from yarl import URL

from orchestrator.registry.addresses import pointed_to
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.errors import BadAnswer, FileMissing, RegistryError, RetriesExhausted
from orchestrator.registry.outgoing import SETTLING_S, STALL_S, Outgoing, UploadRefused
from orchestrator.registry.upload_parts import LEAST_PART_BYTES, PARTS, LocalBlob, UploadPart, parts_from

logger = logging.getLogger(__name__)

T = TypeVar("T")

DELAYS_S = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Between the attempts, of which there is one more."""
_LONGEST_DELAY_S = 60.0
"""A registry may ask for more patience than we have."""
_THERE = frozenset({200, 204, 301, 302, 303, 307, 308})
"""The answer to a question for a blob; where the registry would lead us does not matter."""
_TAKEN = frozenset({200, 201, 202, 204})
_NO_PARTS = frozenset(
    {
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.NOT_IMPLEMENTED,
    }
)
"""What registries answer that take blobs in one piece only."""
_LOST_PLACE = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE}
)
"""What registries answer that do not know the upload any more, or have more or less of it than we think."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """Where the next part goes, and where this one has to be sent on to, if anywhere."""

    location: URL
    onward: URL | None


class _NoParts(Exception):
    """This registry takes blobs in one piece only."""


class _Interrupted(Exception):
    """It is not known how much of a part has arrived."""

    def __init__(self, location: URL, reason: RegistryError) -> None:
        super().__init__()
        self.location, self.reason = location, reason


class Upload:
    """One blob on its way. ``sent_bytes`` tells how far it is."""

    def __init__(
        self,
        client: RegistryClient,
        blob: LocalBlob,
        *,
        delays_s: Sequence[float] = DELAYS_S,
        stall_s: float = STALL_S,
        settling_s: float = SETTLING_S,
        least_part_bytes: int = LEAST_PART_BYTES,
    ) -> None:
        self._client = client
        self._blob = blob
        self._delays_s = delays_s
        self._settling_s = settling_s
        self._least_part_bytes = least_part_bytes
        self._outgoing = Outgoing(client, blob, stall_s=stall_s, settling_s=settling_s)
        self._before_bytes = 0
        """What the registry had before the first part."""
        self._is_sent_on = False
        """The registry has its blobs elsewhere."""

    @property
    def sent_bytes(self) -> int:
        """Bytes that have left; those of a failed attempt do not count."""
        return min(self._before_bytes + self._outgoing.sent_bytes, self._blob.size_bytes)

    async def is_there(self) -> bool:
        """Whether the registry has the blob already. Raises ``RegistryError``."""
        target = f"{self._client.repository}/blobs/{self._blob.digest}"
        async with self._client.request("HEAD", target, accept=_THERE | {404}) as response:
            return response.status != HTTPStatus.NOT_FOUND

    async def run(self) -> None:
        """Send the blob, unless the registry finds it with another of its models.

        Raises ``RegistryError``, and ``StoreError`` when the blob cannot be read.
        """
        begun = await self._retried(self._begin)
        if begun is None:
            return
        try:
            last = await self._send_parts(begun)
        except _NoParts:
            await self._retried(self._send_whole)
        else:
            await self._retried(lambda: self._commit(last))

    async def _begin(self) -> URL | None:
        """A place to send to; ``None`` when the blob was found elsewhere in the registry."""
        target = f"{self._client.repository}/blobs/uploads/"
        if self._blob.origin:
            query = URL.build(query={"from": self._blob.origin, "mount": str(self._blob.digest)})
            target += f"?{query.raw_query_string}"
        async with self._client.request("POST", target, data=b"", accept=_TAKEN) as response:
            if response.status == HTTPStatus.CREATED:
                return None
            self._least_part_bytes = max(self._least_part_bytes, _least_part_bytes(response))
            return _location(response)

    async def _send_parts(self, begun: URL) -> URL:
        """Send all parts; gives where the upload is committed. Raises ``_NoParts``."""
        location, offset = begun, 0
        for delay in (*self._delays_s, None):
            parts = parts_from(offset, self._blob.size_bytes, least_bytes=self._least_part_bytes)
            try:
                return await self._send_in_order(location, parts)
            except _Interrupted as stopped:
                if delay is None:
                    raise RetriesExhausted(stopped.reason) from stopped
                await asyncio.sleep(_wait_s(stopped.reason, delay))
                location, offset = await self._resumed(stopped.location)
                self._before_bytes = offset
                self._outgoing.begin_anew()
        raise AssertionError("the last attempt returns or raises")

    async def _send_in_order(self, location: URL, parts: Sequence[UploadPart]) -> URL:
        """Offer part after part; those that are to go elsewhere travel side by side."""
        places = asyncio.Semaphore(PARTS)
        try:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    async with places:
                        answer = await self._offered(location, part)
                    location = answer.location
                    if answer.onward is not None:
                        group.create_task(self._send_on(answer.onward, part, places))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return location

    async def _offered(self, location: URL, part: UploadPart) -> _Answer:
        """What the registry says to a part. Raises ``_NoParts`` and ``_Interrupted``."""
        if self._is_sent_on:
            return await self._retried(lambda: self._offer(location, part))
        try:
            return await self._offer(location, part)
        except RegistryError as error:
            status = error.status if isinstance(error, UploadRefused) else 0
            if part.offset == 0 and status in _NO_PARTS:
                raise _NoParts from error
            if error.temporary or status in _LOST_PLACE:
                raise _Interrupted(location, error) from error
            raise

    async def _offer(self, location: URL, part: UploadPart) -> _Answer:
        """Send a part to the registry itself."""
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Range": f"{part.offset}-{part.offset + part.size_bytes - 1}",
            "X-Redirect-Uploads": "1",
        }
        async with self._outgoing.sending(
            "PATCH", location, part, headers, accept=_TAKEN | {307}
        ) as response:
            if response.status != HTTPStatus.TEMPORARY_REDIRECT:
                return _Answer(_location(response), None)
            self._is_sent_on = True
            return _Answer(_location(response), _encrypted(response, response.headers.get("Location", "")))

    async def _send_on(self, target: URL, part: UploadPart, places: asyncio.Semaphore) -> None:
        """Send a part to where the registry keeps its blobs; that knows nothing of our credentials."""

        async def attempt() -> None:
            async with self._outgoing.sending("PUT", target, part, {}, accept=_TAKEN):
                pass

        async with places:
            await self._retried(attempt)

    async def _send_whole(self) -> None:
        """Send the blob in one piece, in an upload of its own."""
        begun = await self._begin()
        if begun is None:
            return
        part = UploadPart(0, 0, self._blob.size_bytes)
        headers = {"Content-Type": "application/octet-stream"}
        target = begun.update_query(digest=str(self._blob.digest))
        async with self._outgoing.sending("PUT", target, part, headers, accept=_TAKEN):
            pass

    async def _resumed(self, location: URL) -> tuple[URL, int]:
        """Where to go on, and from which byte: where the registry says, else at the start of a new upload."""
        try:
            async with self._client.request("GET", location, accept=(200, 204)) as response:
                has = _received_bytes(response)
                if 0 < has <= self._blob.size_bytes:
                    return _location(response), has
        except RegistryError as error:
            logger.debug("upload begins anew: %s", error)
        begun = await self._retried(self._begin)
        if begun is None:
            raise BadAnswer("the registry claims to have a blob that it has just been sent a part of")
        return begun, 0

    async def _commit(self, location: URL) -> None:
        target = location.update_query({"digest": str(self._blob.digest)} | self._etag())
        headers = {"Content-Type": "application/octet-stream"}
        try:
            async with self._client.request(
                "PUT", target, data=b"", headers=headers, accept=_TAKEN, timeout_s=self._settling_s
            ):
                pass
        except FileMissing:
            if not await self.is_there():  # else an earlier commit arrived, only its answer did not
                raise

    def _etag(self) -> dict[str, str]:
        """What the parts are checked by where they did not pass through the registry."""
        if self._before_bytes:
            return {}  # the upload was interrupted: those before are not known
        return {"etag": self._outgoing.etag}

    async def _retried(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try up to six times what may succeed later."""
        for delay in self._delays_s:
            try:
                return await work()
            except RegistryError as error:
                if not error.temporary:
                    raise
                logger.debug("upload is tried again: %s", error)
                await asyncio.sleep(_wait_s(error, delay))
        try:
            return await work()
        except RegistryError as error:
            raise RetriesExhausted(error) if error.temporary else error from error


def _wait_s(error: RegistryError, delay_s: float) -> float:
    return min(error.retry_after_s or delay_s, _LONGEST_DELAY_S)


def _location(response: aiohttp.ClientResponse) -> URL:
    """Where an upload goes on."""
    headers = response.headers
    return _encrypted(response, headers.get("Docker-Upload-Location", headers.get("Location", "")))


def _encrypted(response: aiohttp.ClientResponse, location: str) -> URL:
    """Where ``location`` points to; nothing that came encrypted goes on in the clear."""
    url = pointed_to(response, location, what="upload")
    if response.url.scheme == "https" and url.scheme == "http":
        if url.host != response.url.host:
            raise BadAnswer(f"upload from https to plain http://{url.authority} refused")
        return url.with_scheme("https")  # a registry that does not know of the TLS before it
    return url


def _least_part_bytes(response: aiohttp.ClientResponse) -> int:
    value = response.headers.get("OCI-Chunk-Min-Length", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 12 else 0


def _received_bytes(response: aiohttp.ClientResponse) -> int:
    """How much of an upload has arrived. One byte reads like none: that is not worth going on from."""
    first, _, last = response.headers.get("Range", "").removeprefix("bytes=").partition("-")
    known = first == "0" and last.isascii() and last.isdigit() and len(last) < 18
    return int(last) + 1 if known and int(last) else 0
