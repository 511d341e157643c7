"""Messages of a chat completion as messages of the domain. Source: ``api-compat`` §2.2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.api.openai.arguments import parse_arguments
from orchestrator.api.openai.json_types import type_name
from orchestrator.api.openai.media import audio_bytes, image_bytes, video_bytes
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.wire import openai as wire


class NoMessages(BadRequest):
    """A conversation without a beginning."""

    def __init__(self) -> None:
        super().__init__("[] is too short - 'messages'")


class InvalidContent(BadRequest):
    """Content of a message that is neither text nor a list of parts."""

    def __init__(self, content: Any) -> None:
        super().__init__(f"invalid message content type: {type_name(content)}")


class InvalidPart(BadRequest):
    """A part of a message that is malformed, or of a kind nobody knows."""

    def __init__(self) -> None:
        super().__init__("invalid message format")


class InvalidArguments(BadRequest):
    """Arguments of a call in the history that are no JSON object."""

    def __init__(self) -> None:
        super().__init__("invalid tool call arguments")


def to_messages(messages: Sequence[wire.ChatMessage]) -> tuple[Message, ...]:
    """The conversation. Raises the errors of this module and of ``media``."""
    calls = (call for message in messages for call in message.tool_calls or ())
    names = {call.id: call.function.name for call in calls if call.id}
    return tuple(out for message in messages for out in _converted(message, names))


def _converted(message: wire.ChatMessage, names: dict[str, str]) -> Iterator[Message]:
    """The messages that one becomes: each part of a list is one of its own."""
    parts = _parts(message)
    calls = tuple(map(_to_tool_call, message.tool_calls or ()))
    whole = Message(
        role=message.role,
        thinking=message.reasoning,
        tool_calls=calls,
        tool_name=message.name or names.get(message.tool_call_id, "") if message.role == "tool" else "",
        tool_call_id=message.tool_call_id,
    )
    match message.content:
        case str():
            yield replace(whole, content=message.content)
        case list():
            if calls:
                last = parts.pop() if parts else Message(message.role)
                parts.append(replace(whole, content=last.content, images=last.images))
            yield from parts
        case _ if message.tool_calls is not None:  # case B062
            yield whole
        case _:
            raise InvalidContent(message.content)


def _parts(message: wire.ChatMessage) -> list[Message]:
    """What a list of content becomes; other content has no parts."""
    content = message.content
    return [_part(message.role, part) for part in content] if isinstance(content, list) else []


def _part(role: str, part: Any) -> Message:
    match part:
        case {"type": "text", "text": str(text)}:
            return Message(role, text)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return Message(role, images=(image_bytes(url),))
        case {"type": "input_audio", "input_audio": audio}:
            return Message(role, images=(audio_bytes(audio),))
        case {"type": "input_audio"}:
            return Message(role, images=(audio_bytes(None),))
        case {"type": "video_url", "video_url": {"url": str(url)} | str(url)} | {
            "type": "input_video",
            "input_video": {"data": str(url)} | {"url": str(url)},
        }:
            return Message(role, images=(video_bytes(url),))
        case _:
            raise InvalidPart


def _to_tool_call(call: wire.ToolCall) -> ToolCall:
    try:
        arguments = parse_arguments(call.function.arguments)
    except ValueError as error:
        raise InvalidArguments from error
    return ToolCall(call.function.name, arguments, id=call.id)
