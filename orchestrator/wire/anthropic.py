"""The JSON of Anthropic's Messages API, as far as local models can follow it.

Blocks of content have one form with the members of all kinds: which of them count, their ``type`` says.
Source: ``api-compat`` §8.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from orchestrator.wire.fields import Int, TextElement
from orchestrator.wire.model import Nullable, OmitEmpty, OmitNone, Wire


def _as_blocks(value: Any) -> Any:
    """A bare string is one block of text; null is no block."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if value is None:
        return []
    if not isinstance(value, list):
        raise PydanticCustomError("content", "expected a string or a list of blocks")
    return value


class ContentBlock(Wire):
    """One block of a message."""

    type: str = ""
    text: OmitNone[str | None] = None
    source: OmitNone[Any] = None
    """Where an image comes from; other kinds of blocks keep other things here."""
    id: OmitEmpty[str] = ""
    name: OmitEmpty[str] = ""
    input: OmitNone[Any] = None
    tool_use_id: OmitEmpty[str] = ""
    content: OmitNone[Any] = None
    """What a tool gave: text, blocks, or anything."""
    is_error: OmitEmpty[bool] = False
    thinking: OmitNone[str | None] = None
    signature: OmitEmpty[str] = ""
    cache_control: OmitNone[Any] = None
    """Accepted everywhere: what engines cache, they decide by themselves."""


class Message(Wire):
    """One turn of the conversation."""

    role: str = ""
    content: Annotated[Nullable[list[ContentBlock]], BeforeValidator(_as_blocks)]


class Tool(Wire):
    """A function the model may call, or one that the server offers."""

    type: OmitEmpty[str] = ""
    name: str = ""
    description: OmitEmpty[str] = ""
    input_schema: OmitNone[Any] = None
    cache_control: OmitNone[Any] = None


class Thinking(Wire):
    """Whether the model shall think before it answers."""

    type: str = ""
    budget_tokens: OmitNone[Int | None] = None


class OutputConfig(Wire):
    """How much effort an answer is worth, and which form it must have."""

    effort: OmitEmpty[str] = ""
    format: Any = None


class Conversation(Wire):
    """What makes the prompt of a request."""

    model: str = ""
    messages: list[Message] = []
    system: Any = None
    tools: list[Tool] = []
    tool_choice: Any = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    cache_control: Any = None
    context_management: Any = None
    """What a server may clear from a long conversation; here nothing is cleared but what does not fit."""


class MessagesRequest(Conversation):
    """Body of ``/v1/messages``."""

    max_tokens: Int = 0
    stream: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: Int | None = None
    stop_sequences: list[TextElement] = []
    output_format: Any = None
    """The older place of ``output_config.format``."""
    thread: Any = None
    """State of the conversation that the server would keep."""
    metadata: Any = None
    service_tier: Any = None


class CountTokensRequest(Conversation):
    """Body of ``/v1/messages/count_tokens``."""
