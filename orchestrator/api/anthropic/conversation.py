"""The turns of a Messages request as messages of a conversation.

One turn is at most one message with its text, images, thoughts and calls, and one message of role ``tool``
per result. Source: ``api-compat`` §8.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.base64_text import IllegalBase64, decode_base64
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.prompt_json import compact, sorted_keys
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.wire import anthropic as wire

_READ = frozenset(
    {"text", "image", "thinking", "tool_use", "tool_result", "server_tool_use", "web_search_tool_result"}
)
WEB_SEARCH_RESULT = "web_search_result"
WEB_SEARCH_ERROR = "web_search_tool_result_error"


class InvalidContent(BadRequest):
    """A block of content that cannot be understood."""


def to_messages(system: Any, turns: Sequence[wire.Message]) -> tuple[Message, ...]:
    """The conversation, system prompt first. Raises ``InvalidContent``."""
    text = system_text(system)
    first = (Message("system", text),) if text else ()
    return (*first, *(message for turn in turns for message in _messages(turn)))


def system_text(system: Any) -> str:
    """The system prompt: a text, or the texts of its blocks; whatever else it is counts for nothing."""
    return system if isinstance(system, str) else _joined_texts(system)


def unread_blocks(turns: Sequence[wire.Message]) -> tuple[str, ...]:
    """One text for each type of block that no model here reads, and that is left out."""
    kinds = dict.fromkeys(block.type for turn in turns for block in turn.content)
    return tuple(f'content blocks of type "{kind}" were left out' for kind in kinds if kind not in _READ)


def _messages(turn: wire.Message) -> Iterator[Message]:
    """The messages of one turn: what a user answers to calls comes before what else he says."""
    message = _message(turn)
    results = [result for block in turn.content if (result := _result(block)) is not None]
    if turn.role.lower() == "user":
        yield from results
    if message.content or message.images or message.tool_calls or message.thinking:
        yield message
    if turn.role.lower() != "user":
        yield from results


def _message(turn: wire.Message) -> Message:
    """Everything in a turn but the results of tools."""
    texts: list[str] = []
    images: list[bytes] = []
    calls: list[ToolCall] = []
    thinking = ""
    for block in turn.content:
        match block.type:
            case "text":
                texts.append(block.text or "")
            case "image":
                images.append(_image(block.source, missing="invalid image source"))
            case "tool_use" | "server_tool_use":
                calls.append(_call(block))
            case "thinking":
                thinking = block.thinking or ""
    return Message(turn.role.lower(), "".join(texts), thinking, tuple(images), tuple(calls))


def _call(block: wire.ContentBlock) -> ToolCall:
    for name, value in (("id", block.id), ("name", block.name)):
        if not value:
            raise InvalidContent(f"{block.type} block missing required '{name}' field")
    if not isinstance(block.input, Mapping | None):
        raise InvalidContent(f"{block.type} block {block.id!r}: 'input' has to be an object")
    return ToolCall(block.name, block.input or {}, id=block.id)


def _result(block: wire.ContentBlock) -> Message | None:
    """What a block says about the outcome of a call; ``None`` for other blocks."""
    match block.type:
        case "tool_result":
            images = tuple(_result_images(block.content))
            text = block.content if isinstance(block.content, str) else _joined_texts(block.content)
            return Message("tool", text, images=images, tool_call_id=block.tool_use_id)
        case "web_search_tool_result":
            return Message("tool", _search_text(block.content), tool_call_id=block.tool_use_id)
    return None


def _result_images(content: Any) -> Iterator[bytes]:
    for part in _objects(content):
        if part.get("type") == "image":
            yield _image(part.get("source"), missing="invalid tool_result image source")


def _image(source: Any, *, missing: str) -> bytes:
    if not isinstance(source, Mapping):
        raise InvalidContent(missing)
    if (kind := source.get("type") or "") != "base64":
        raise InvalidContent(f"invalid image source type: {kind}. Only base64 images are supported.")
    try:
        return decode_base64(str(source.get("data") or ""))
    except IllegalBase64 as error:
        raise InvalidContent(f"invalid base64 image data: {error}") from error


def _search_text(content: Any) -> str:
    """Results of a web search as a model reads them."""
    match content:
        case str():
            return content
        case {"type": "web_search_tool_result_error"}:
            return _search_error(content)
        case [{"type": "web_search_tool_result_error"}, *_]:
            return _search_error(content[0])
        case list():
            results = [part for part in _objects(content) if part.get("type") == WEB_SEARCH_RESULT]
            return "".join(f"- {part.get('title', '')}: {part.get('url', '')}\n" for part in results)
    return compact(sorted_keys(content))


def _search_error(error: Mapping[str, Any]) -> str:
    code = error.get("error_code")
    return f"{WEB_SEARCH_ERROR}: {code}" if code else WEB_SEARCH_ERROR


def _joined_texts(content: Any) -> str:
    texts = (part.get("text") for part in _objects(content) if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _objects(content: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a list; anything else has none."""
    if isinstance(content, list):
        yield from (part for part in content if isinstance(part, Mapping))
