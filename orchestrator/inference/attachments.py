"""Attachments of a request, brought into the form that engines read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.media.detect import RECORDINGS, check_known, kind_of
from orchestrator.media.images import converted, needs_conversion
from orchestrator.media.pixels import check_pixels
from orchestrator.store.model import Model


class AudioUnsupported(BadRequest):
    """A recording for a model that cannot hear (case B151)."""

    def __init__(self) -> None:
        super().__init__("audio not supported by this model")


def refuse_unheard(messages: Sequence[Message], model: Model) -> None:
    """Raises ``AudioUnsupported`` for recordings that a model without any projector would never get."""
    if "audio" in model.files.capabilities or model.files.projectors:
        return
    if any(kind_of(data) in RECORDINGS for message in messages for data in message.images):
        raise AudioUnsupported


def refuse_unknown(media: Iterable[bytes], model: Model) -> None:
    """Raises ``UnknownMedia`` for what a model that can see could not be shown.

    Models that cannot see are not asked: engines say so in words that clients know.
    """
    if "vision" in model.files.capabilities or model.files.projectors:
        for data in media:
            check_known(data)


async def readable(media: Sequence[bytes]) -> tuple[bytes, ...]:
    """``media`` with images as engines read them.

    Raises ``UnsupportedMedia``, ``UndecodableImage``, ``TooManyPixels``.
    """
    for data in media:
        check_pixels(data)
    return tuple(
        [await asyncio.to_thread(converted, data) if needs_conversion(data) else data for data in media]
    )


async def readable_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with their media in the form that engines read."""
    return tuple([replace(m, images=await readable(m.images)) if m.images else m for m in messages])
