"""Attachments of a request, brought into the form that engines read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.media.detect import Kind, kind_of
from orchestrator.media.images import as_png, needs_conversion
from orchestrator.store.model import Model

_AUDIO = (Kind.WAV, Kind.MP3)


class AudioUnsupported(BadRequest):
    """A recording for a model that cannot hear (case B151)."""

    def __init__(self) -> None:
        super().__init__("audio not supported by this model")


def refuse_unheard(messages: Sequence[Message], model: Model) -> None:
    """Raises ``AudioUnsupported`` for recordings that a model without any projector would never get."""
    if "audio" in model.files.capabilities or model.files.projectors:
        return
    if any(kind_of(data) in _AUDIO for message in messages for data in message.images):
        raise AudioUnsupported


async def readable(media: Sequence[bytes]) -> tuple[bytes, ...]:
    """``media`` with WebP images as PNG. Raises ``UnsupportedMedia``, ``UndecodableImage``."""
    return tuple(
        [await asyncio.to_thread(as_png, data) if needs_conversion(data) else data for data in media]
    )


async def readable_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with their media in the form that engines read."""
    return tuple([replace(m, images=await readable(m.images)) if m.images else m for m in messages])
