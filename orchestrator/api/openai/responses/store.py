"""Conversations kept for ``previous_response_id``: in memory, the oldest given up first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest

MAX_RESPONSES = 1000
MAX_BYTES = 64 << 20


class UnknownResponse(BadRequest):
    """A response that is not kept here, or not any more (case B071)."""

    def __init__(self, id_: str) -> None:
        super().__init__(
            f"previous response '{id_}' not found: it was not stored, or has been dropped since; "
            "send the whole conversation as input"
        )
        self.id = id_


class ResponseStore:
    """Remembers conversations by the ids of the responses they ended with."""

    def __init__(self, *, max_responses: int = MAX_RESPONSES, max_bytes: int = MAX_BYTES) -> None:
        self._max_responses = max_responses
        self._max_bytes = max_bytes
        self._size_bytes = 0
        self._kept: OrderedDict[str, tuple[Message, ...]] = OrderedDict()

    def __contains__(self, id_: str) -> bool:
        return id_ in self._kept

    def keep(self, id_: str, messages: Sequence[Message]) -> None:
        """Remember a conversation, unless it alone is too large."""
        self._drop(id_)
        self._kept[id_] = tuple(messages)
        self._size_bytes += _size_bytes(messages)
        while self._kept and (self._size_bytes > self._max_bytes or len(self._kept) > self._max_responses):
            self._drop(next(iter(self._kept)))

    def get(self, id_: str) -> tuple[Message, ...]:
        """The conversation, which counts as new again. Raises ``UnknownResponse``."""
        try:
            self._kept.move_to_end(id_)
        except KeyError:
            raise UnknownResponse(id_) from None
        return self._kept[id_]

    def _drop(self, id_: str) -> None:
        self._size_bytes -= _size_bytes(self._kept.pop(id_, ()))


def _size_bytes(messages: Sequence[Message]) -> int:
    """About how much memory messages take; what they share with others is counted again."""
    return sum(
        500
        + len(message.content)
        + len(message.thinking)
        + sum(map(len, message.images))
        + sum(len(call.name) + len(str(call.arguments)) for call in message.tool_calls)
        for message in messages
    )
