"""The layers of text: template, system text, licences, parameters and messages.

Plain synchronous code. Source: ``modelfile`` §5.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.create.parts import Part
from orchestrator.store.blobs import BlobStore, StoredBlob
from orchestrator.store.canonical import canonical_json, free_form
from orchestrator.store.wire import Layer, MediaType


def layer_status(blob: StoredBlob) -> str:
    """How a layer is told of."""
    return f"{'creating new' if blob.created else 'using existing'} layer {blob.digest}"


def text_part(blobs: BlobStore, media_type: MediaType, content: bytes) -> Part:
    """Store a small layer. Raises ``StoreError``."""
    blob = blobs.put(content)
    layer = Layer(media_type=media_type, digest=str(blob.digest), size=blob.size_bytes)
    return Part(layer, layer_status(blob))


def parameters_part(blobs: BlobStore, parameters: Mapping[str, Any]) -> Part:
    """Store options of a model. Raises ``StoreError``."""
    return text_part(blobs, MediaType.PARAMS, canonical_json(free_form(parameters)))


def replaced(parts: Iterable[Part], media_types: Sequence[MediaType], part: Part) -> list[Part]:
    """The parts without those of ``media_types``, and ``part`` behind them."""
    return [*(kept for kept in parts if kept.media_type not in media_types), part]
