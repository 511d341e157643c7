"""A request for a response as a domain request. Source: ``api-compat`` §6.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.api.openai.effort import to_think
from orchestrator.api.openai.responses.conversation import to_messages
from orchestrator.api.openai.responses.tools import to_tools
from orchestrator.domain.formats import JsonFormat, OutputFormat, UnknownFormat, parse_format
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.tool_choice import parse_tool_choice
from orchestrator.wire import responses as wire

LOGPROBS = "message.output_text.logprobs"
"""The word in ``include`` that asks for log probabilities."""

_DEFAULTS = {"temperature": 1.0}


def to_chat(body: wire.ResponsesRequest, history: Sequence[Message] = ()) -> ChatRequest:
    """The request; ``history`` is the conversation that ``previous_response_id`` names.

    What is wrong is told in Ollama's order: the input, the effort, the tools.
    """
    instructions = (Message("system", body.instructions),) if body.instructions else ()
    messages = (*instructions, *history, *to_messages(body.input))
    think = to_think(body.reasoning)
    return ChatRequest(
        model=body.model,
        messages=messages,
        tools=to_tools(body.tools),
        tool_choice=parse_tool_choice(body.tool_choice, parallel=body.parallel_tool_calls is not False),
        options=_options(body),
        keep_alive=body.keep_alive,
        think=think,
        format=_format(body.text),
        truncate=body.truncation != "disabled",
        logprobs=LOGPROBS in body.include,
        top_logprobs=body.top_logprobs if LOGPROBS in body.include else 0,
    )


def _options(body: wire.ResponsesRequest) -> dict[str, Any]:
    given = {
        "num_predict": body.max_output_tokens,
        "temperature": body.temperature,
        "top_p": body.top_p,
    }
    layers = (_DEFAULTS, body.options or {}, given)
    return {name: value for layer in layers for name, value in layer.items() if value is not None}


def _format(settings: wire.TextSettings | None) -> OutputFormat | UnknownFormat | None:
    wanted = settings.format if settings else None
    match wanted.type if wanted else "":
        case "json_schema" if wanted:
            return parse_format(wanted.schema_)
        case "json_object":
            return JsonFormat()
        case _:
            return None
