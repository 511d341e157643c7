"""Questions renderers ask about the order of messages."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.requests import Message


def is_prefill(messages: Sequence[Message]) -> bool:
    """Whether the conversation ends in the middle of an answer, which the model shall go on with."""
    last = messages[-1] if messages else None
    return last is not None and last.role == "assistant" and last.content != "" and not last.tool_calls


def last_index(messages: Sequence[Message], role: str) -> int:
    """Where the last message of that role stands; -1 if there is none."""
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == role), -1)


def role_at(messages: Sequence[Message], index: int) -> str:
    """The role of a message; empty outside the list."""
    return messages[index].role if 0 <= index < len(messages) else ""
