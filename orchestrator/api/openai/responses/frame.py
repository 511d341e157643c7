"""The response object: what it repeats of the request, and how it ends. Source: ``api-compat`` §6.4."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.chunks import Usage
from orchestrator.wire import responses as wire

MAX_NUMBER = 1_000_000


@dataclass(frozen=True, slots=True)
class ResponseFrame:
    """All of a response but its output."""

    body: wire.ResponsesRequest
    number: int
    """What the ids of its parts are made of."""
    created_at: int

    @classmethod
    def new(cls, body: wire.ResponsesRequest) -> ResponseFrame:
        """A fresh one for a request."""
        return cls(body, random_number(), int(time.time()))

    @property
    def id(self) -> str:
        """The id of the response."""
        return f"resp_{self.number}"

    def search_id(self, number: int) -> str:
        """The id of a search."""
        return f"ws_{self.number}_{number}"

    def begun(self) -> dict[str, Any]:
        """The response before there is any output."""
        return self._object("in_progress", [], None, None)

    def completed(
        self, output: Sequence[dict[str, Any]] | None, usage: Usage, told: dict[str, Any]
    ) -> dict[str, Any]:
        """The response with its output; ``told`` are members of our own."""
        return self._object("completed", output, usage, int(time.time())) | told

    def failed(self, message: str, code: str, usage: Usage | None) -> dict[str, Any]:
        """The response that did not come about."""
        members: dict[str, Any] = {
            "id": self.id,
            "object": "response",
            "status": "failed",
            "model": self.body.model,
            "output": [],
            "error": {"code": code, "message": message},
        }
        if usage is not None:
            members["usage"] = {
                "input_tokens": usage.prompt_tokens,
                "output_tokens": usage.completion_tokens,
                "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            }
        return members

    def _object(
        self,
        status: str,
        output: Sequence[dict[str, Any]] | None,
        usage: Usage | None,
        completed_at: int | None,
    ) -> dict[str, Any]:
        body = self.body
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "completed_at": completed_at,
            "status": status,
            "incomplete_details": None,
            "model": body.model,
            "previous_response_id": body.previous_response_id,
            "instructions": body.instructions or None,
            "output": output,
            "error": None,
            "tools": [_tool_members(tool, members=not body.stream) for tool in body.tools],
            "tool_choice": "auto" if body.tool_choice is None else body.tool_choice,
            "truncation": body.truncation or "disabled",
            "parallel_tool_calls": body.parallel_tool_calls is not False,
            "text": {"format": _format_members(body.text)},
            "top_p": 1 if body.top_p is None else body.top_p,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "top_logprobs": body.top_logprobs,
            "temperature": 1 if body.temperature is None else body.temperature,
            "reasoning": _reasoning_members(body),
            "usage": None if usage is None else _usage_members(usage),
            "max_output_tokens": body.max_output_tokens,
            "max_tool_calls": body.max_tool_calls,
            "store": body.store is True,
            "background": body.background,
            "service_tier": "default",
            "metadata": body.metadata if isinstance(body.metadata, dict) else {},
            "safety_identifier": None,
            "prompt_cache_key": None,
        }


def random_number() -> int:
    """For an id."""
    return secrets.randbelow(MAX_NUMBER - 1)


def _usage_members(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def _tool_members(tool: wire.ResponseTool, *, members: bool) -> dict[str, Any]:
    """The tool as it was sent; streams leave out the ``members`` of a namespace."""
    told: dict[str, Any] = {
        "type": tool.type,
        "name": tool.name,
        "description": tool.description,
        "strict": tool.strict,
        "parameters": tool.parameters,
    }
    if members and tool.tools:
        told["tools"] = [_tool_members(inner, members=True) for inner in tool.tools]
    return told


def _format_members(settings: wire.TextSettings | None) -> dict[str, Any]:
    wanted = settings.format if settings else None
    if wanted is None or not wanted.type:
        return {"type": "text"}
    members: dict[str, Any] = {"type": wanted.type}
    optional = {
        "name": wanted.name or None,
        "schema": wanted.schema_,
        "strict": wanted.strict,
    }
    return members | {name: value for name, value in optional.items() if value is not None}


def _reasoning_members(body: wire.ResponsesRequest) -> dict[str, Any] | None:
    """What was asked for of thoughts; streams say of the other half that it was not."""
    given = body.reasoning
    if given is None or not (given.effort or given.summary):
        return None
    members = {"effort": given.effort or None, "summary": given.summary or None}
    return members if body.stream else {name: value for name, value in members.items() if value}
