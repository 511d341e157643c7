"""Attachments of a request, brought into the form that engines read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.requests import Message
from orchestrator.media.images import as_png, needs_conversion


async def readable(media: Sequence[bytes]) -> tuple[bytes, ...]:
    """``media`` with WebP images as PNG. Raises ``UnsupportedMedia``, ``UndecodableImage``."""
    return tuple(
        [await asyncio.to_thread(as_png, data) if needs_conversion(data) else data for data in media]
    )


async def readable_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with their media in the form that engines read."""
    return tuple([replace(m, images=await readable(m.images)) if m.images else m for m in messages])
