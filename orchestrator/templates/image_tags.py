"""``[img-N]`` tags in the text of messages, where a template writes the prompt.

The engine's side replaces each by a marker of the medium. Source: ``prompts`` §3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from orchestrator.domain.image_tags import image_tags
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest


class TooManyImages(BadRequest):
    """The model takes one image per message."""

    def __init__(self) -> None:
        super().__init__("this model only supports one image while more than one image requested")


def check_image_counts(messages: Iterable[Message], families: Sequence[str]) -> None:
    """Refuse several images in one message for families that take one. Raises ``TooManyImages``."""
    if "mllama" in families and any(len(message.images) > 1 for message in messages):
        raise TooManyImages


def tag_images(messages: Iterable[Message]) -> list[Message]:
    """The messages with a tag for each of their images, numbered from 0 in order."""
    tagged: list[Message] = []
    number = 0
    for message in messages:
        after = number + len(message.images)
        front, content = image_tags(message.content, range(number, after))
        tagged.append(replace(message, content=front + content) if message.images else message)
        number = after
    return tagged
