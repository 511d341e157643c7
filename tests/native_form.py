"""Domain requests and replies in the form of the native API, in which records of other dialects tell them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item, ToolCall, Usage
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.tools import tool_json
from orchestrator.wire import native as wire
from orchestrator.wire.json import loads
from orchestrator.wire.model import decode, encode

Json = Mapping[str, Any]


def native_chat(request: ChatRequest, *, stream: bool) -> dict[str, Any]:
    """The body of the native request that asks for the same, members in its order, without nulls."""
    members = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages] or None,
        "stream": stream,
        "tools": [tool_json(tool) for tool in request.tools],
        "options": request.options,
        "think": None if request.think is None else request.think.json,
    }
    body: dict[str, Any] = loads(encode(decode(members, wire.ChatRequest)))
    return {name: value for name, value in body.items() if value is not None}


def batches(reply: Json) -> list[list[Item]]:
    """The items that a recorded native reply stands for, one batch per record."""
    records = reply["chunks"] if "chunks" in reply else [reply["object"]]
    return [_items(decode(_json(record), wire.ChatResponse)) for record in records]


def _message(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "content": message.content,
        "thinking": message.thinking,
        "images": [base64.b64encode(image).decode() for image in message.images],
        "tool_calls": [_call(call) for call in message.tool_calls],
        "tool_name": message.tool_name,
        "tool_call_id": message.tool_call_id,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"index": call.index, "name": call.name, "arguments": call.arguments}
    return {"id": call.id, "function": function}


def _json(record: Any) -> Any:
    return json.loads(record) if isinstance(record, str) else record


def _items(record: wire.ChatResponse) -> list[Item]:
    message = record.message
    calls = tuple(
        ToolCall(call.function.name, call.function.arguments or {}, call.function.index, call.id)
        for call in message.tool_calls
    )
    chunk = Chunk(message.content, message.thinking, calls)
    items: list[Item] = [chunk] if any(chunk) else []
    if record.done:
        usage = Usage(prompt_tokens=record.prompt_eval_count, completion_tokens=record.eval_count)
        items.append(Done(_reason(record.done_reason), usage))
    return items


def _reason(text: str) -> DoneReason:
    """The reason; one that no engine gives is as good as any that is no end of a generation."""
    try:
        return DoneReason(text or "stop")
    except ValueError:
        return DoneReason.LOAD


def joined(batches: Sequence[Sequence[Item]]) -> list[Item]:
    """All items of all batches."""
    return [item for batch in batches for item in batch]
