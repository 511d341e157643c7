"""What a renderer is: a pure function of a conversation that gives the prompt of one model family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool


class Renderer(Protocol):
    """Turns messages into the text one model family was trained on."""

    leading_bos: str
    """Text at the start of every prompt that the tokenizer may add by itself; empty if none."""
    places_images: bool
    """Whether it writes an ``[img-N]`` for the images; otherwise they must stand in the messages already."""

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        """The prompt; the messages are left as they are. Raises ``BadRequest`` for what has no prompt."""
