"""The parts of one blob on their way to a registry: read, counted and hashed as they leave."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

import aiohttp
from yarl import URL

from orchestrator.errors import StoreError
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.errors import Interrupted, RegistryError, RegistryRefused
from orchestrator.registry.upload_parts import LocalBlob, UploadPart
from orchestrator.store.errors import disk_error

STALL_S = 30.0
"""How long no byte may leave before an attempt counts as failed."""
SETTLING_S = 300.0
"""How long the registry may take to answer when all bytes have left: it may hash them first."""
_READ_BYTES = 1 << 20
_PIECE_BYTES = 64 << 10
"""How much is sent at a time: few enough to tell a slow connection from one that has stopped."""


class UploadRefused(RegistryError):
    """The registry does not take a part."""

    def __init__(self, refusal: RegistryRefused) -> None:
        try:
            phrase = f" {HTTPStatus(refusal.status).phrase}"
        except ValueError:
            phrase = ""
        super().__init__(f"http status {refusal.status}{phrase}: {refusal.body}")
        self.status = refusal.status
        self.temporary, self.retry_after_s = refusal.temporary, refusal.retry_after_s


class Outgoing:
    """Sends parts of a blob, several at once if wanted, and keeps account of them."""

    def __init__(self, client: RegistryClient, blob: LocalBlob, *, stall_s: float, settling_s: float) -> None:
        """``stall_s`` and ``settling_s``: see ``STALL_S`` and ``SETTLING_S``."""
        self._client = client
        self._blob = blob
        self._stall_s = stall_s
        self._settling_s = settling_s
        self._sent: dict[int, int] = {}
        """Bytes that are with the registry, or on their way, by part."""
        self._sums: dict[int, bytes] = {}
        """MD5 of the parts that have left."""
        self._unreadable: StoreError | None = None

    @property
    def sent_bytes(self) -> int:
        """Bytes that have left; those of a failed attempt do not count."""
        return sum(self._sent.values())

    @property
    def etag(self) -> str:
        """What a store of objects calls all parts that were sent, put together."""
        total = hashlib.md5(
            b"".join(self._sums[index] for index in sorted(self._sums)), usedforsecurity=False
        )
        return f"{total.hexdigest()}-{len(self._sums)}"

    def begin_anew(self) -> None:
        """Forget the parts sent so far: others take their place."""
        self._sent.clear()
        self._sums.clear()

    @asynccontextmanager
    async def sending(
        self,
        method: str,
        target: URL,
        part: UploadPart,
        headers: Mapping[str, str],
        *,
        accept: Collection[int],
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a request that has a part as its body, for as long as bytes leave.

        Raises ``UploadRefused`` and other ``RegistryError``, and ``StoreError`` when the blob cannot be read.
        """
        try:
            async with (
                asyncio.timeout(self._stall_s) as patience,
                self._client.request(
                    method,
                    target,
                    headers={**headers, "Content-Length": str(part.size_bytes)},
                    data=lambda: self._content(part, patience),
                    accept=accept,
                    timeout_s=None,
                ) as response,
            ):
                yield response
        except TimeoutError as error:
            self._sent.pop(part.index, None)
            raise Interrupted(f"the upload of {self._blob.digest.short} has stopped moving") from error
        except RegistryError as error:
            self._sent.pop(part.index, None)
            if self._unreadable is not None:
                raise self._unreadable from error
            raise UploadRefused(error) if isinstance(error, RegistryRefused) else error from error

    async def _content(self, part: UploadPart, patience: asyncio.Timeout) -> AsyncIterator[bytes]:
        """The bytes of a part, counted and hashed as they leave."""
        self._sent[part.index] = 0
        hashing = hashlib.md5(usedforsecurity=False)
        try:
            async for piece in self._pieces(part):
                yield piece
                hashing.update(piece)
                self._sent[part.index] += len(piece)
                _extend(patience, self._stall_s)
        except StoreError as error:
            self._unreadable = error
            raise
        self._sums[part.index] = hashing.digest()
        _extend(patience, self._settling_s)

    async def _pieces(self, part: UploadPart) -> AsyncIterator[bytes]:
        path, left = self._blob.path, part.size_bytes
        try:
            file = await asyncio.to_thread(path.open, "rb", buffering=0)
            try:
                file.seek(part.offset)
                while left:
                    content = await asyncio.to_thread(file.read, min(left, _READ_BYTES))
                    if not content:
                        raise StoreError(f"read {path}: it has become shorter")
                    left -= len(content)
                    for start in range(0, len(content), _PIECE_BYTES):
                        yield content[start : start + _PIECE_BYTES]
            finally:
                file.close()
        except OSError as error:
            raise disk_error("read", path, error) from error


def _extend(patience: asyncio.Timeout, seconds: float) -> None:
    with suppress(RuntimeError):  # the answer came before all was sent
        patience.reschedule(asyncio.get_running_loop().time() + seconds)
