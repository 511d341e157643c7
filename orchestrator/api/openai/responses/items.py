"""Input items of Responses as messages of the domain. Source: ``api-compat`` §6.2."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from orchestrator.api.openai.arguments import parse_arguments
from orchestrator.api.openai.media import image_bytes
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.wire import responses as wire
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.model import Wire, decode

M = TypeVar("M", bound=Wire)


class InvalidItem(BadRequest):
    """An input item that is malformed, or of a kind nobody knows."""


class InvalidInput(BadRequest):
    """An ``input`` that is neither text nor a list."""

    def __init__(self, value: Any) -> None:
        kind = "bool" if isinstance(value, bool) else "object" if isinstance(value, dict) else "number"
        reason = f"json: cannot unmarshal {kind} into Go value of type []json.RawMessage"
        super().__init__(f"input must be a string or array: {reason}")


class FilesUnsupported(BadRequest):
    """A file in the input."""

    def __init__(self) -> None:
        super().__init__("file inputs are not currently supported")


class InvalidCallArguments(BadRequest):
    """Arguments of a call in the history that are no JSON object."""

    def __init__(self, reason: ValueError) -> None:
        super().__init__(f"failed to parse function call arguments: {reason}")


def to_messages(value: Any) -> tuple[Message, ...]:
    """The conversation in an ``input``. Raises the errors of this module and of ``media``."""
    match value:
        case None | "":
            return ()
        case str():
            return (Message("user", value),)
        case list():
            return _Conversation().read(value)
        case _:
            raise InvalidInput(value)


@dataclass(slots=True)
class _Conversation:
    """Messages so far; a thought is held until there is a message it belongs to."""

    messages: list[Message] = field(default_factory=list)
    thinking: str = ""

    def read(self, items: Sequence[Any]) -> tuple[Message, ...]:
        readers: dict[str, Callable[[str, Any], None]] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "function_call": self._call,
            "function_call_output": self._output,
            "web_search_call": _passed_over,
        }
        for index, item in enumerate(items):
            where = f"input[{index}]: "
            kind = _kind(where, item)
            if kind not in readers:
                raise InvalidItem(f"{where}unknown input item type: {json.dumps(kind, ensure_ascii=False)}")
            readers[kind](where, item)
        if self.thinking:
            self.messages.append(Message("assistant", thinking=self._taken_thinking()))
        return tuple(self.messages)

    def _message(self, where: str, item: Any) -> None:
        given = _decoded(where, item, wire.InputMessage)
        role = given.role.lower()
        content, images = _parts(where, "content", given.content)
        thinking = self._taken_thinking() if role == "assistant" else ""
        self.messages.append(Message(role, content, thinking, images))

    def _reasoning(self, where: str, item: Any) -> None:
        given = _decoded(where, item, wire.InputReasoning)
        self.thinking = given.encrypted_content or self.thinking

    def _call(self, where: str, item: Any) -> None:
        given = _decoded(where, item, wire.InputFunctionCall)
        try:
            arguments = parse_arguments(given.arguments) if given.arguments else {}
        except ValueError as error:
            raise InvalidCallArguments(error) from error
        call = ToolCall(_full_name(given), arguments, id=given.call_id)
        thinking = self._taken_thinking()
        if self.messages and self.messages[-1].role == "assistant":
            last = self.messages[-1]
            calls = (*last.tool_calls, call)
            self.messages[-1] = replace(last, tool_calls=calls, thinking=thinking or last.thinking)
        else:
            self.messages.append(Message("assistant", thinking=thinking, tool_calls=(call,)))

    def _output(self, where: str, item: Any) -> None:
        given = _decoded(where, item, wire.InputFunctionCallOutput)
        content, images = _parts(where, "output", given.output)
        self._join_words_between(given.call_id)
        self.messages.append(Message("tool", content, images=images, tool_call_id=given.call_id))

    def _join_words_between(self, call_id: str) -> None:
        """Make one message of a call and of what was said after it, so that the result follows the call."""
        if len(self.messages) < 2:
            return
        asking, words = self.messages[-2:]
        if asking.role != "assistant" or words.role != "assistant" or words.tool_calls:
            return
        if any(call.id == call_id for call in asking.tool_calls):
            joined = replace(
                asking,
                content="\n".join(text for text in (asking.content, words.content) if text),
                thinking=words.thinking or asking.thinking,
                images=asking.images + words.images,
            )
            self.messages[-2:] = [joined]

    def _taken_thinking(self) -> str:
        thinking, self.thinking = self.thinking, ""
        return thinking


def _passed_over(where: str, item: Any) -> None:
    """What the server did itself needs no telling."""


def _kind(where: str, item: Any) -> str:
    if not isinstance(item, dict):
        raise InvalidItem(f"{where}an input item is an object, got {json.dumps(item)[:80]}")
    kind = item.get("type") or ("message" if item.get("role") else "")
    if not kind:
        raise InvalidItem(f"{where}input item missing required 'type' field")
    return str(kind)


def _full_name(call: wire.InputFunctionCall) -> str:
    """The name the model knows a tool of a namespace by."""
    prefix = f"{call.namespace}."
    return call.name if not call.namespace or call.name.startswith(prefix) else prefix + call.name


def _parts(where: str, name: str, content: Any) -> tuple[str, tuple[bytes, ...]]:
    """Text and images of a content; texts are put together without a separator."""
    match content:
        case None:
            return "", ()
        case str():
            return content, ()
        case list():
            pass
        case _:
            raise InvalidItem(f"{where}{name} must be a string or array")
    texts: list[str] = []
    images: list[bytes] = []
    for index, item in enumerate(content):
        place = f"{where}{name}[{index}]: "
        part = _decoded(place, item, wire.InputPart)
        match part.type:
            case "input_text" | "output_text":
                texts.append(part.text)
            case "input_image":
                images += [image_bytes(part.image_url)] if part.image_url else []
            case "input_file":
                raise FilesUnsupported
            case _:
                raise InvalidItem(f"{place}unknown content type: {part.type}")
    return "".join(texts), tuple(images)


def _decoded(where: str, item: Any, model: type[M]) -> M:
    try:
        return decode(item, model)
    except InvalidBody as error:
        raise InvalidItem(f"{where}{error}") from error
