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
    message, results = _parts(turn)
    if message.role == "user":
        yield from results
    if message.content or message.images or message.tool_calls or message.thinking:
        yield message
    if message.role != "user":
        yield from results


def _parts(turn: wire.Message) -> tuple[Message, list[Message]]:
    """Everything in a turn but the results of tools, and these. The first block that is wrong is told of."""
    texts: list[str] = []
    images: list[bytes] = []
    calls: list[ToolCall] = []
    results: list[Message] = []
    thinking = ""
    for block in turn.content:
        match block.type:
            case "text":
                texts.append(block.text or "")
            case "image":
                images.append(_image(block.source, missing="invalid image source"))
            case "tool_use" | "server_tool_use":
                calls.append(_call(block))
            case "thinking" if block.thinking is not None:
                thinking = block.thinking
            case "tool_result":
                results.append(_result(block))
            case "web_search_tool_result":
                results.append(Message("tool", _search_text(block.content), tool_call_id=block.tool_use_id))
    return Message(turn.role.lower(), "".join(texts), thinking, tuple(images), tuple(calls)), results


def _call(block: wire.ContentBlock) -> ToolCall:
    """The call of the client's tool, or of the server's own, which nobody has to answer to."""
    for name, value in (("id", block.id), ("name", block.name)):
        if not value and block.type == "tool_use":
            raise InvalidContent(f"tool_use block missing required '{name}' field")
    if not isinstance(block.input, Mapping | None):
        raise InvalidContent(f"{block.type} block {block.id!r}: 'input' has to be an object")
    return ToolCall(block.name, block.input or {}, id=block.id)


def _result(block: wire.ContentBlock) -> Message:
    """What a tool of the client's gave."""
    images = tuple(_result_images(block.content))
    text = block.content if isinstance(block.content, str) else _joined_texts(block.content)
    return Message("tool", text, images=images, tool_call_id=block.tool_use_id)


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
    """Results of a web search as a model reads them; one that failed has none."""
    match content:
        case str():
            return content
        case {"type": "web_search_tool_result_error"}:
            return _search_error(content)
        case list():
            for part in _objects(content):
                if part.get("type") == WEB_SEARCH_ERROR:
                    return _search_error(part)
            results = [part for part in _objects(content) if part.get("type") == WEB_SEARCH_RESULT]
            return "".join(f"- {_text(part, 'title')}: {_text(part, 'url')}\n" for part in results)
    return compact(sorted_keys(content))


def _text(part: Mapping[str, Any], name: str) -> str:
    """A member that is text; anything else counts as none."""
    value = part.get(name)
    return value if isinstance(value, str) else ""


def _search_error(error: Mapping[str, Any]) -> str:
    code = _text(error, "error_code")
    return f"{WEB_SEARCH_ERROR}: {code}" if code else WEB_SEARCH_ERROR


def _joined_texts(content: Any) -> str:
    return "".join(_text(part, "text") for part in _objects(content) if part.get("type") == "text")


def _objects(content: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a list; anything else has none."""
    if isinstance(content, list):
        yield from (part for part in content if isinstance(part, Mapping))
