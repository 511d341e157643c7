"""What a client asks for, whatever the dialect it asked in.

The native, OpenAI and Anthropic layers each convert their wire models to these values; ``inference`` knows
no others. Absent fields are ``None`` or empty; defaults are settled by ``inference``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.durations import KeepAlive
from orchestrator.domain.formats import OutputFormat, UnknownFormat
from orchestrator.domain.think import Think
from orchestrator.domain.tool_choice import AUTO, ToolChoice
from orchestrator.domain.tools import Tool


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. ``images`` are raw bytes of images or audio, in order."""

    role: str
    content: str = ""
    thinking: str = ""
    images: tuple[bytes, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """What chat and generate have in common."""

    model: str
    """As the client wrote it; replies echo it."""
    options: Mapping[str, Any]
    """The raw ``options`` object; merged and checked by ``inference``."""
    keep_alive: KeepAlive | None = None
    think: Think | None = None
    think_if_able: bool = False
    """A model that cannot think just answers; otherwise asking it to is an error."""
    format: OutputFormat | UnknownFormat | None = None
    truncate: bool = True
    shift: bool | None = None
    logprobs: bool = False
    top_logprobs: int = 0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    """Token id → what is added to its logit."""
    names_stop: bool = False
    """The reply shall tell which of the stop strings was met."""
    debug_render_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest(GenerationRequest):
    """A conversation to be continued."""

    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest(GenerationRequest):
    """A prompt to be completed."""

    prompt: str = ""
    suffix: str = ""
    system: str = ""
    template: str = ""
    context: tuple[int, ...] | None = None
    raw: bool = False
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRequest:
    """Documents to be put in the order in which they answer a query."""

    model: str
    query: str
    documents: tuple[str, ...]
    options: Mapping[str, Any]
    keep_alive: KeepAlive | None = None
    top_n: int | None = None
    """How many of the best are wanted; ``None`` is all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRequest:
    """Texts to be turned into vectors."""

    model: str
    texts: tuple[str | tuple[int, ...], ...]
    """Texts, or token ids of the model's own tokenizer."""
    options: Mapping[str, Any]
    keep_alive: KeepAlive | None = None
    truncate: bool = True
    dimensions: int = 0
