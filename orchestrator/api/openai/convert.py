"""Requests of this dialect as domain requests.

What Ollama passes over and we honour: ``max_completion_tokens``, ``logit_bias``, ``tool_choice``,
``parallel_tool_calls``, ``n``, and the native controls ``options``, ``keep_alive``, ``think``, ``format``.
Source: ``api-compat`` §2–§4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.api.openai.effort import to_think
from orchestrator.api.openai.errors import Unsupported
from orchestrator.api.openai.json_types import type_name
from orchestrator.api.openai.messages import NoMessages, to_messages
from orchestrator.domain.formats import JsonFormat, OutputFormat, UnknownFormat, parse_format
from orchestrator.domain.requests import ChatRequest, EmbedRequest, GenerateRequest
from orchestrator.domain.tool_choice import parse_tool_choice
from orchestrator.errors import BadRequest
from orchestrator.wire import openai as wire

MAX_CHOICES = 8
_WIDEST_BIAS = 100.0
_CHAT_DEFAULTS = {"temperature": 1.0, "top_p": 1.0}
_COMPLETION_DEFAULTS = {**_CHAT_DEFAULTS, "frequency_penalty": 0.0, "presence_penalty": 0.0}
"""These hold over what the model's file says."""


class InvalidStop(BadRequest):
    """A stop sequence that is no text."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"invalid type for 'stop' field: {type_name(value)}")


class InvalidChoices(BadRequest):
    """More choices than one request may ask for, or none."""

    def __init__(self, count: int) -> None:
        super().__init__(f"'n' must be between 1 and {MAX_CHOICES}, got {count}")


class InvalidBias(BadRequest):
    """A ``logit_bias`` that is no table of token ids."""


class InvalidInput(BadRequest):
    """An ``input`` of embeddings that is missing."""

    def __init__(self) -> None:
        super().__init__("invalid input")


class InvalidInputType(BadRequest):
    """An ``input`` of embeddings that is neither text nor tokens."""

    def __init__(self) -> None:
        super().__init__("invalid input type")


def to_chat(body: wire.ChatCompletionRequest) -> ChatRequest:
    """The request of ``/v1/chat/completions``. What Ollama refuses is looked for first, and in its order."""
    if not body.messages:
        raise NoMessages
    messages = to_messages(body.messages)
    think = to_think(body.reasoning, body.reasoning_effort)
    _refuse_unsupported(body)
    return ChatRequest(
        model=body.model,
        messages=messages,
        tools=body.tools,
        tool_choice=parse_tool_choice(body.tool_choice, parallel=body.parallel_tool_calls is not False),
        options=_chat_options(body),
        keep_alive=body.keep_alive,
        think=body.think if think is None else think,
        format=_format(body.response_format) or parse_format(body.format),
        logprobs=body.logprobs,
        top_logprobs=body.top_logprobs,
        logit_bias=to_logit_bias(body.logit_bias),
        debug_render_only=body.debug_render_only,
    )


def to_completion(body: wire.CompletionRequest) -> GenerateRequest:
    """The request of ``/v1/completions``."""
    options = _completion_options(body)
    if body.best_of is not None and body.best_of > to_choices(body.n):
        raise Unsupported("'best_of' must not be greater than 'n'")
    wanted = body.logprobs or 0
    return GenerateRequest(
        model=body.model,
        prompt=body.prompt,
        suffix=body.suffix,
        options=options,
        keep_alive=body.keep_alive,
        logprobs=wanted > 0,
        top_logprobs=max(wanted, 0),
        logit_bias=to_logit_bias(body.logit_bias),
        debug_render_only=body.debug_render_only,
    )


def to_embed(body: wire.EmbeddingRequest) -> EmbedRequest:
    """The request of ``/v1/embeddings``. Raises ``InvalidInputType``."""
    return EmbedRequest(
        model=body.model,
        texts=_inputs(body.input),
        options=body.options or {},
        keep_alive=body.keep_alive,
        dimensions=body.dimensions,
    )


def to_encoding(body: wire.EmbeddingRequest) -> str:
    """The form of the vectors, ``float`` or ``base64`` (case B016), of a request that has an input.

    Raises ``Unsupported``, ``InvalidInput``.
    """
    wanted = body.encoding_format.lower() or "float"
    if wanted not in ("float", "base64"):
        raise Unsupported(
            f"Invalid value for 'encoding_format' = {body.encoding_format}. "
            "Supported values: ['float', 'base64']."
        )
    if body.input is None or body.input == []:
        raise InvalidInput
    return wanted


def to_choices(count: int | None) -> int:
    """How many answers are wanted. Raises ``InvalidChoices``."""
    if count is None:
        return 1
    if not 1 <= count <= MAX_CHOICES:
        raise InvalidChoices(count)
    return count


def to_logit_bias(table: Mapping[str, float] | None) -> dict[int, float]:
    """Token id → what is added to its logit. Raises ``InvalidBias``."""
    bias: dict[int, float] = {}
    for token, value in (table or {}).items():
        if not token.isascii() or not token.isdigit():
            raise InvalidBias(f"'logit_bias' takes token ids as keys, got {token!r}")
        if not -_WIDEST_BIAS <= value <= _WIDEST_BIAS:
            raise InvalidBias(f"'logit_bias' takes values from -100 to 100, got {value}")
        bias[int(token)] = value
    return bias


def _refuse_unsupported(body: wire.ChatCompletionRequest) -> None:
    if body.functions or body.function_call not in (None, "none", "auto"):
        raise Unsupported("'functions' and 'function_call' are not supported, use 'tools' and 'tool_choice'")
    if isinstance(body.modalities, list) and "audio" in body.modalities:
        raise Unsupported("'modalities': only text can be generated")


def _chat_options(body: wire.ChatCompletionRequest) -> dict[str, Any]:
    limit = body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens
    given = {
        "stop": _stops(body.stop) or None,
        "num_predict": limit,
        "seed": body.seed,
        "frequency_penalty": body.frequency_penalty,
        "presence_penalty": body.presence_penalty,
        "temperature": body.temperature,
        "top_p": body.top_p,
    }
    return _merged(_CHAT_DEFAULTS, body.options, given)


def _completion_options(body: wire.CompletionRequest) -> dict[str, Any]:
    given = {
        "stop": _checked_stops(body.stop) or None,
        "num_predict": body.max_tokens,
        "seed": body.seed,
        "temperature": body.temperature,
        "top_p": body.top_p or None,
        "frequency_penalty": body.frequency_penalty,
        "presence_penalty": body.presence_penalty,
    }
    return _merged(_COMPLETION_DEFAULTS, body.options, given)


def _merged(*layers: Mapping[str, Any] | None) -> dict[str, Any]:
    """The last value given for each name."""
    return {name: value for layer in layers for name, value in (layer or {}).items() if value is not None}


def _stops(value: Any) -> list[str]:
    """The texts in ``value``; what is none is passed over."""
    match value:
        case str():
            return [value]
        case list():
            return [stop for stop in value if isinstance(stop, str)]
        case _:
            return []


def _checked_stops(value: Any) -> list[str]:
    if isinstance(value, list):
        for stop in value:
            if not isinstance(stop, str):
                raise InvalidStop(stop)
    return _stops(value)


def _format(wanted: wire.ResponseFormat | None) -> OutputFormat | UnknownFormat | None:
    match wanted.type.strip().lower() if wanted else "":
        case "json_object":
            return JsonFormat()
        case "json_schema" if wanted and wanted.json_schema:
            return parse_format(wanted.json_schema.schema_)
        case _:
            return None


def _inputs(value: Any) -> tuple[str | tuple[int, ...], ...]:
    match value:
        case str():
            return (value,)
        case [int(), *_]:
            return (_tokens(value),)
        case [str(), *_] if all(isinstance(text, str) for text in value):
            return tuple(value)
        case [[*_], *_]:
            return tuple(map(_tokens, value))
        case _:
            raise InvalidInputType


def _tokens(value: Any) -> tuple[int, ...]:
    """Token ids of the model's own tokenizer."""
    if not isinstance(value, list) or not value:
        raise InvalidInputType
    if not all(type(token) is int and token >= 0 for token in value):
        raise InvalidInputType
    return tuple(value)
