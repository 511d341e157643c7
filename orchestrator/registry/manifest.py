"""Fetching a manifest, and finding out whether it is one. Source: ``store`` §3, §6.3."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from pydantic import ValidationError

from orchestrator.domain.digests import Digest, InvalidDigest
from orchestrator.domain.names import ModelName
from orchestrator.registry.client import RegistryClient
from orchestrator.registry.errors import BadAnswer, ManifestNotPulled, RegistryError, Unreachable
from orchestrator.registry.patience import Patience
from orchestrator.store.manifests import LARGEST_MANIFEST_BYTES
from orchestrator.store.wire import MANIFEST_MEDIA_TYPE, Manifest, MediaType
from orchestrator.wire.complaints import complaint

TIMEOUT_S = 30.0
"""How long an answer may take to begin, and again to arrive."""


class UnsupportedModel(RegistryError):
    """A model of a kind that nothing here can run."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A part of a model to be fetched. A size of 0 is not known."""

    digest: Digest
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FetchedManifest:
    """A manifest as the registry sent it, and what it lists."""

    content: bytes
    manifest: Manifest
    blobs: tuple[Blob, ...]
    """Each once, in the order of the layers, the configuration last."""


async def fetch_manifest(client: RegistryClient, patience: Patience) -> FetchedManifest:
    """Raises ``ManifestNotPulled``; for one that lists what cannot be ``BadAnswer``, ``UnsupportedModel``."""
    try:
        content = await _content(client, patience)
        manifest = _parsed(content)
    except RegistryError as error:
        raise ManifestNotPulled(error) from error
    return FetchedManifest(content, manifest, _blobs(client.name, manifest))


async def _content(client: RegistryClient, patience: Patience) -> bytes:
    failures = 0
    while True:
        asked_s = time.monotonic()
        try:
            return await _asked_once(client)
        except RegistryError as error:
            failures += 1
            is_final = failures >= patience.attempts or time.monotonic() - asked_s >= TIMEOUT_S
            if is_final or not error.temporary or (isinstance(error, Unreachable) and not error.connected):
                raise
            await asyncio.sleep(patience.delay(failures, error))


async def _asked_once(client: RegistryClient) -> bytes:
    async with client.request(
        "GET",
        f"{client.repository}/manifests/{client.name.tag}",
        headers={"Accept": MANIFEST_MEDIA_TYPE},
        timeout_s=TIMEOUT_S,
    ) as response:
        async with asyncio.timeout(TIMEOUT_S):
            return await client.read(response, limit_bytes=LARGEST_MANIFEST_BYTES)


def _parsed(content: bytes) -> Manifest:
    begin = content.lstrip()[:1]
    if begin != b"{":
        shown = begin.decode("latin-1")
        raise BadAnswer(
            f"invalid character {shown!r} looking for beginning of value" if shown else "unexpected EOF"
        )
    try:
        manifest = Manifest.model_validate_json(content)
    except ValidationError as error:
        raise BadAnswer(f"invalid manifest: {complaint(error, whole='')}") from error
    if not manifest.parts:
        raise BadAnswer("invalid manifest: it lists nothing")
    return manifest


def _blobs(name: ModelName, manifest: Manifest) -> tuple[Blob, ...]:
    if manifest.layers_of(MediaType.TENSOR):
        raise UnsupportedModel("this model requires MLX support, but the MLX runtime is not available")
    blobs: dict[str, Blob] = {}
    for part in manifest.parts:
        if not part.digest:
            raise BadAnswer(f"{name.namespace_model}: digest is empty")
        if part.size < 0:
            raise BadAnswer(f"invalid manifest: {part.digest} has a size of {part.size} bytes")
        try:
            digest = Digest.parse(part.digest)
        except InvalidDigest as error:
            raise BadAnswer(f"{error}: {part.digest[:100]!r}") from error
        blobs.setdefault(digest.hex.lower(), Blob(digest, part.size))
    return tuple(blobs.values())
