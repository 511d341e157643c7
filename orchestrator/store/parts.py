"""The files of a stored model, for those who need all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.digests import Digest
from orchestrator.errors import StoreError
from orchestrator.store.blobs import BlobStore
from orchestrator.store.errors import DamagedModel
from orchestrator.store.manifests import StoredManifest
from orchestrator.store.wire import Layer


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One part of a model, and its file."""

    layer: Layer
    digest: Digest
    path: Path

    @property
    def size_bytes(self) -> int:
        """Of the file, as the manifest states it."""
        return self.layer.size


def stored_parts(blobs: BlobStore, stored: StoredManifest) -> Iterator[StoredPart]:
    """All parts, as the manifest lists them. Raises ``DamagedModel`` unless each has its right size."""
    for layer in stored.manifest.parts:
        digest = Digest.parse(layer.digest)
        try:
            size = blobs.size(digest)
        except StoreError as error:
            raise DamagedModel(stored.name, str(error)) from error
        if size != layer.size:
            raise DamagedModel(stored.name, f"{digest} has {size} bytes instead of {layer.size}")
        yield StoredPart(layer, digest, blobs.path(digest))
