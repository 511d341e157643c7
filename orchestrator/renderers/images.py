"""``[img-N]`` tags, where a renderer writes them.

Images of every message are tagged, whatever its role: one left out would shift the numbers of those after it
against the list of media. Source: ``prompts`` §3.2.
"""

from __future__ import annotations

from orchestrator.domain.image_tags import image_tags
from orchestrator.domain.requests import Message
from orchestrator.domain.white_space import WHITE_SPACE


class ImageTags:
    """Numbers the images of a conversation, from 0."""

    def __init__(self) -> None:
        self._next = 0

    def tagged(self, message: Message) -> str:
        """The content of a message with a tag for each of its images.

        A text that has tags already is left as it is.
        """
        first, content = self._next, message.content
        self._next += len(message.images)
        if not message.images or "[img-" in content:
            return content
        front, content = image_tags(content, range(first, self._next))
        gap = " " if front and content and content[0] not in WHITE_SPACE else ""
        return front + gap + content
