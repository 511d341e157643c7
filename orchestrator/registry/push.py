"""Pushing a model: the blobs the registry does not have, one after the other, then the manifest.

Source: ``store`` §8.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from orchestrator.domain.names import DEFAULT_PARTS, InvalidName, ModelName, NameParts
from orchestrator.domain.progress import Progress
from orchestrator.errors import OrchestratorError
from orchestrator.process.cleanup import to_the_end
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.progress import INTERVAL_S, SUCCESS
from orchestrator.registry.registries import Registries
from orchestrator.registry.upload import DELAYS_S, Upload
from orchestrator.registry.upload_parts import LEAST_PART_BYTES, LocalBlob
from orchestrator.store.canonical import canonical_json
from orchestrator.store.errors import ModelNotFound
from orchestrator.store.manifests import StoredManifest
from orchestrator.store.models import ModelStore
from orchestrator.store.parts import stored_parts
from orchestrator.store.wire import Layer, Manifest

_RETRIEVING = Progress("retrieving manifest")
_NOT_RETRIEVED = Progress("couldn't retrieve manifest")
_PUSHING_MANIFEST = Progress("pushing manifest")
_WRITTEN = (200, 201, 202, 204)


class NothingToPush(OrchestratorError):
    """There is no such model; the text is the one clients of Ollama know."""

    hint = "`orch list` shows the models there are; `orch cp` gives one the name of a registry"


class Pusher:
    """Sends models of one store to their registries."""

    def __init__(
        self,
        registries: Registries,
        store: ModelStore,
        *,
        delays_s: Sequence[float] = DELAYS_S,
        least_part_bytes: int = LEAST_PART_BYTES,
    ) -> None:
        """``delays_s`` are between attempts, ``least_part_bytes`` is the least a blob is cut into."""
        self._registries = registries
        self._store = store
        self._delays_s = delays_s
        self._least_part_bytes = least_part_bytes

    async def push(self, text: str, *, insecure: bool = False) -> AsyncGenerator[Progress, None]:
        """Send the model that ``text`` names; the last step is told when all of it has arrived.

        Closing it stops the work. Raises ``NothingToPush``, ``DamagedModel``, ``RegistryError`` and
        ``StoreError``.
        """
        yield _RETRIEVING
        try:
            stored = await asyncio.to_thread(self._read, text)
            blobs = await asyncio.to_thread(self._blobs, stored)
        except OrchestratorError:
            yield _NOT_RETRIEVED
            raise
        name = replace(stored.name, scheme="https")
        async with (
            self._store.held([blob.digest for blob in blobs]),
            self._registries.client(name, insecure=insecure) as client,
        ):
            for blob in blobs:
                async with aclosing(self._sent(client, blob)) as sending:
                    async for step in sending:
                        yield step
            yield _PUSHING_MANIFEST
            await _put_manifest(client, stored.manifest)
        yield SUCCESS

    def _read(self, text: str) -> StoredManifest:
        try:
            name = self._store.manifests.canonical(ModelName.parse(text))
        except InvalidName as error:
            whole = NameParts.split(text).merge(DEFAULT_PARTS)
            raise NothingToPush(f"unqualified name: {whole}") from error
        try:
            return self._store.manifests.read(name)
        except ModelNotFound as error:
            path = self._store.layout.manifest(name)
            raise NothingToPush(f"open {path}: no such file or directory") from error

    def _blobs(self, stored: StoredManifest) -> list[LocalBlob]:
        """The files of a model. Raises ``DamagedModel`` unless all are there in their right size."""
        return [
            LocalBlob(part.digest, part.path, part.size_bytes, _origin(part.layer, stored.name))
            for part in stored_parts(self._store.blobs, stored)
        ]

    async def _sent(self, client: RegistryClient, blob: LocalBlob) -> AsyncGenerator[Progress, None]:
        """Send one blob, unless it is there; tell of it now and then, and when it is done."""
        upload = Upload(client, blob, delays_s=self._delays_s, least_part_bytes=self._least_part_bytes)
        if not await upload.is_there():
            running = asyncio.ensure_future(upload.run())
            try:
                while not await _ended(running, within_s=INTERVAL_S):
                    if sent := upload.sent_bytes:
                        yield _pushing(blob, sent)
                running.result()
            finally:
                running.cancel()
                await to_the_end(_settled(running))
        yield _pushing(blob, blob.size_bytes)


async def _put_manifest(client: RegistryClient, manifest: Manifest) -> None:
    content = canonical_json(manifest.to_json()).rstrip(b"\n")
    target = f"{client.repository}/manifests/{client.name.tag}"
    async with client.request(
        "PUT", target, headers={"Content-Type": manifest.media_type}, data=content, accept=_WRITTEN
    ):
        pass


async def _ended(running: asyncio.Future[None], *, within_s: float) -> bool:
    done, _ = await asyncio.wait([running], timeout=within_s)
    return bool(done)


async def _settled(running: asyncio.Future[None]) -> None:
    await asyncio.wait([running])


def _pushing(blob: LocalBlob, sent_bytes: int) -> Progress:
    return Progress(f"pushing {blob.digest.short}", str(blob.digest), blob.size_bytes, sent_bytes)


def _origin(part: Layer, name: ModelName) -> str:
    """Another model of the same registry that the part came from; a layer may also come from a file."""
    if not part.from_:
        return ""
    try:
        origin = ModelName.parse(part.from_)
    except InvalidName:
        return ""
    elsewhere = origin.host.lower() != name.host.lower()
    return "" if elsewhere or origin.namespace_model == name.namespace_model else origin.namespace_model
