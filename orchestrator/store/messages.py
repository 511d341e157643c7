"""Messages as a model carries them: the layer with a JSON array of native messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.wire import native as wire
from orchestrator.wire.json import loads
from orchestrator.wire.model import decode


def read_messages(content: bytes) -> tuple[Message, ...]:
    """The messages of a layer. Raises ``BadRequest`` when it holds something else."""
    value = loads(content)
    if not isinstance(value, list):
        raise BadRequest("messages: expected a list")
    return tuple(_from_wire(decode(entry, wire.Message)) for entry in value)


def messages_json(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The array to be written as a layer; empty members are left out."""
    return [_to_wire(message).model_dump() for message in messages]


def _from_wire(message: wire.Message) -> Message:
    return Message(
        role=message.role,
        content=message.content,
        thinking=message.thinking,
        images=tuple(message.images),
        tool_calls=tuple(
            ToolCall(call.function.name, call.function.arguments or {}, call.function.index, call.id)
            for call in message.tool_calls
        ),
        tool_name=message.tool_name,
        tool_call_id=message.tool_call_id,
    )


def _to_wire(message: Message) -> wire.Message:
    return wire.Message(
        role=message.role,
        content=message.content,
        thinking=message.thinking,
        images=list(message.images),
        tool_calls=[
            wire.ToolCall(
                id=call.id,
                function=wire.ToolCallFunction(
                    index=call.index, name=call.name, arguments=dict(call.arguments)
                ),
            )
            for call in message.tool_calls
        ],
        tool_name=message.tool_name,
        tool_call_id=message.tool_call_id,
    )
