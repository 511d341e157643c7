"""The input of Responses as messages of the domain. Source: ``api-compat`` §6.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.api.openai.arguments import parse_arguments
from orchestrator.api.openai.media import image_bytes
from orchestrator.api.openai.responses.items import Item, read_item
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.wire import responses as wire


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
    """The conversation in an ``input``. Raises the errors of this module, of ``items`` and of ``media``."""
    match value:
        case None | "":
            return ()
        case str():
            return (Message("user", value),)
        case list():
            items = [read_item(index, item) for index, item in enumerate(value)]
            return _Conversation().of(items)
        case _:
            raise InvalidInput(value)


@dataclass(slots=True)
class _Conversation:
    """Messages so far; a thought is held until there is a message it belongs to."""

    messages: list[Message] = field(default_factory=list)
    thinking: str = ""

    def of(self, items: Sequence[Item]) -> tuple[Message, ...]:
        """The messages that ``items`` make."""
        for item in items:
            match item.given:
                case wire.InputMessage() as message:
                    self._say(message, item.parts)
                case wire.InputReasoning() as reasoning:
                    self.thinking = reasoning.encrypted_content or self.thinking
                case wire.InputFunctionCall() as call:
                    self._call(call)
                case wire.InputFunctionCallOutput() as output:
                    self._answer(output, item.parts)
                case _:
                    pass  # what the server did itself needs no telling
        if self.thinking:
            self.messages.append(Message("assistant", thinking=self._taken_thinking()))
        return tuple(self.messages)

    def _say(self, given: wire.InputMessage, parts: Sequence[wire.InputPart]) -> None:
        role = given.role.lower()
        thinking = self._taken_thinking() if role == "assistant" else ""
        self.messages.append(Message(role, _text(parts), thinking, _images(parts)))

    def _call(self, given: wire.InputFunctionCall) -> None:
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

    def _answer(self, given: wire.InputFunctionCallOutput, parts: Sequence[wire.InputPart]) -> None:
        self._join_words_between(given.call_id)
        answer = Message("tool", _text(parts), images=_images(parts), tool_call_id=given.call_id)
        self.messages.append(answer)

    def _join_words_between(self, call_id: str) -> None:
        """Make one message of a call and of what was said after it, so that the result follows the call."""
        if len(self.messages) < 2:
            return
        asking, words = self.messages[-2:]
        if asking.role != "assistant" or words.role != "assistant" or words.tool_calls:
            return
        if call_id and any(call.id == call_id for call in asking.tool_calls):
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


def _full_name(call: wire.InputFunctionCall) -> str:
    """The name the model knows a tool of a namespace by."""
    prefix = f"{call.namespace}."
    return call.name if not call.namespace or call.name.startswith(prefix) else prefix + call.name


def _text(parts: Sequence[wire.InputPart]) -> str:
    """All text, put together without a separator."""
    return "".join(part.text for part in parts if part.type in ("input_text", "output_text"))


def _images(parts: Sequence[wire.InputPart]) -> tuple[bytes, ...]:
    """All images. Raises ``FilesUnsupported``, and what ``image_bytes`` raises, whichever comes first."""
    images = []
    for part in parts:
        if part.type == "input_file":
            raise FilesUnsupported
        if part.type == "input_image" and part.image_url:
            images.append(image_bytes(part.image_url))
    return tuple(images)
