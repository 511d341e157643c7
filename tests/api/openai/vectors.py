"""Recorded vectors of the OpenAI routes, told in the terms of the domain and back.

The vectors speak of the native requests that a body becomes, and of the native replies that become an
answer. Here a domain request is shown as the native request it stands for, and native replies are read as
the items of a generation.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.api.openai.errors import OPENAI
from orchestrator.domain.chunks import (
    Chunk,
    Done,
    DoneReason,
    Item,
    TokenLogprob,
    ToolCall,
    TopLogprob,
    Usage,
)
from orchestrator.domain.formats import JsonFormat, SchemaFormat, UnknownFormat
from orchestrator.domain.requests import ChatRequest, GenerateRequest, GenerationRequest, Message
from orchestrator.domain.tools import tool_json
from orchestrator.errors import EngineRefused
from tests.golden_records import Record

_IDS = re.compile(r"\b(chatcmpl|cmpl|resp)-?_?\d+")


def body_bytes(record: Record) -> bytes:
    """The body of a record's request."""
    given = record["in"]
    return given["body_text"].encode() if "body_text" in given else json.dumps(given["body"]).encode()


def native_chat(request: ChatRequest, *, stream: bool) -> dict[str, Any]:
    """The native request that ``request`` stands for."""
    members = _native(request, stream=stream)
    if request.messages:
        members["messages"] = [_message(message) for message in request.messages]
    if request.tools:
        members["tools"] = [tool_json(tool) for tool in request.tools]
    return members


def native_completion(request: GenerateRequest, *, stream: bool) -> dict[str, Any]:
    """The native request that ``request`` stands for."""
    members = _native(request, stream=stream) | {"prompt": request.prompt}
    return members | ({"suffix": request.suffix} if request.suffix else {})


def without_ours(members: dict[str, Any], body: Any) -> dict[str, Any]:
    """``members`` without what follows from fields that we honour and Ollama passes over."""
    if not isinstance(body, Mapping):
        return members
    options = dict(members["options"])
    for name, value in (body.get("options") or {}).items():
        if options.get(name) == value:
            del options[name]
    if body.get("max_completion_tokens") is not None and "max_tokens" not in body:
        assert options.pop("num_predict") == body["max_completion_tokens"]
    members = members | {"options": options}
    for name in ("think", "format", "keep_alive"):
        if body.get(name) is not None:
            members.pop(name, None)
    return members


def generation(native: Mapping[str, Any]) -> list[Item]:
    """The items of the generation that the native replies tell of."""
    replies = native.get("chunks") if "chunks" in native else [native["object"]]
    return [item for reply in replies or () for item in items_of(reply)]


def items_of(reply: Any) -> list[Item]:
    """The items of one native reply."""
    reply = json.loads(reply) if isinstance(reply, str) else reply
    message = reply.get("message", {})
    chunk = Chunk(
        message.get("content", reply.get("response", "")),
        message.get("thinking", reply.get("thinking", "")),
        tuple(map(_call, message.get("tool_calls", ()))),
        tuple(map(_logprob, reply.get("logprobs", ()))),
    )
    if not reply.get("done"):
        return [chunk]
    usage = Usage(
        prompt_tokens=reply.get("prompt_eval_count", 0), completion_tokens=reply.get("eval_count", 0)
    )
    done = Done(reply.get("done_reason", DoneReason.STOP), usage)
    return [chunk, done] if any(chunk) else [done]


def created(native: Mapping[str, Any]) -> int:
    """When the first of the native replies was made."""
    replies = native.get("chunks") if "chunks" in native else [native["object"]]
    first = replies[0] if replies else {}
    first = json.loads(first) if isinstance(first, str) else first
    text = first.get("created_at", "2026-01-05T10:00:00Z")
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def refusal(native: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Status and body of the answer to a request that failed natively."""
    text = native.get("error", "")
    if "raw_error" in native:
        try:
            text = json.loads(native["raw_error"]).get("error", "")
        except ValueError:
            text = native["raw_error"]
    error = EngineRefused(text, status=native["status"])
    return error.status, OPENAI.body(error, error.status)


def events(stream: str | bytes) -> list[Any]:
    """The events of a stream: their names where they have some, their data parsed."""
    text = stream.decode() if isinstance(stream, bytes) else stream
    return [_event(block) for block in text.split("\n\n") if block]


def masked(value: Any) -> Any:
    """``value`` with ids and strings of JSON in the form of the vectors, ready to be compared."""
    match value:
        case dict():
            return {key: _parsed(key, masked(element)) for key, element in value.items()}
        case list():
            return [masked(element) for element in value]
        case str():
            return _IDS.sub(lambda found: found[0].rstrip("0123456789") + "ID", value)
        case _:
            return value


def key_order(value: Any) -> Any:
    """The keys in ``value`` in their order, at every depth."""
    match value:
        case dict():
            return [(key, key_order(element)) for key, element in value.items()]
        case list():
            return [key_order(element) for element in value]
        case _:
            return None


def _event(block: str) -> Any:
    name, _, data = block.rpartition("data: ")
    value = data if data == "[DONE]" else json.loads(data)
    return [name.removeprefix("event: ").strip(), masked(value)] if name else masked(value)


def _parsed(key: str, value: Any) -> Any:
    """Arguments of tool calls are compared as values."""
    if key != "arguments" or not isinstance(value, str) or not value:
        return value
    return json.loads(value)


def _native(request: GenerationRequest, *, stream: bool) -> dict[str, Any]:
    members: dict[str, Any] = {"model": request.model, "options": dict(request.options), "stream": stream}
    match request.format:
        case JsonFormat():
            members["format"] = "json"
        case SchemaFormat(schema):
            members["format"] = schema
        case UnknownFormat(value):
            members["format"] = value
        case None:
            pass
    optional = {
        "think": None if request.think is None else request.think.json,
        "logprobs": request.logprobs or None,
        "top_logprobs": request.top_logprobs or None,
        "_debug_render_only": request.debug_render_only or None,
    }
    return members | {name: value for name, value in optional.items() if value is not None}


def _message(message: Message) -> dict[str, Any]:
    members: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.thinking:
        members["thinking"] = message.thinking
    if message.images:
        members["images"] = [base64.b64encode(image).decode() for image in message.images]
    if message.tool_calls:
        members["tool_calls"] = [_call_members(call) for call in message.tool_calls]
    optional = {"tool_name": message.tool_name, "tool_call_id": message.tool_call_id}
    return members | {name: value for name, value in optional.items() if value}


def _call_members(call: ToolCall) -> dict[str, Any]:
    function = {"index": call.index, "name": call.name, "arguments": dict(call.arguments)}
    return ({"id": call.id} if call.id else {}) | {"function": function}


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(
        function["name"], function.get("arguments") or {}, function.get("index", 0), call.get("id", "")
    )


def _logprob(entry: Mapping[str, Any]) -> TokenLogprob:
    top: Sequence[Mapping[str, Any]] = entry.get("top_logprobs", ())
    alternatives = tuple(TopLogprob(other["token"], other["logprob"]) for other in top)
    return TokenLogprob(entry["token"], entry["logprob"], alternatives)
