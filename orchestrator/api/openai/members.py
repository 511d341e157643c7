"""Parts of replies that several routes of this dialect share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.api.openai.arguments import arguments_text
from orchestrator.domain.chunks import ToolCall, Usage
from orchestrator.inference.reply import RenderedPrompt
from orchestrator.wire.json import dumps

END = b"data: [DONE]\n\n"
"""The last event of a stream that came to its end."""


def usage_members(usage: Usage) -> dict[str, Any]:
    """The ``usage`` of a reply; tokens reused from the engine's cache are told when there are some."""
    members: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
    if usage.cached_tokens:
        members["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return members


def tool_call_members(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """The ``tool_calls`` of a message; each is complete, in a stream as well."""
    return [
        {
            "id": call.id,
            "index": call.index,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call.arguments)},
        }
        for call in calls
    ]


def debug_members(rendered: RenderedPrompt) -> dict[str, Any]:
    """The ``_debug_info`` of a reply that shows a prompt."""
    members: dict[str, Any] = {"rendered_template": rendered.prompt}
    return members | ({"image_count": rendered.media_count} if rendered.media_count else {})


def event(value: Mapping[str, Any]) -> bytes:
    """One event of a stream."""
    return b"data: " + dumps(value) + b"\n\n"
