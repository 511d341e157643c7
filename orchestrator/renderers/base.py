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

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        """The prompt. Media stand as ``[img-N]`` written into the messages beforehand unless the family
        places them itself."""
