"""Output items of a response. Source: ``api-compat`` §6.4, §9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.api.logprobs import logprob_members
from orchestrator.api.openai.arguments import arguments_text
from orchestrator.domain.chunks import TokenLogprob, ToolCall

Item = dict[str, Any]


def text_part(text: str, logprobs: Sequence[TokenLogprob] = ()) -> Item:
    """The one part of a message."""
    return {
        "type": "output_text",
        "text": text,
        "annotations": [],
        "logprobs": logprob_members(logprobs),
    }


def message_item(id_: str, part: Item | None) -> Item:
    """A message; without a part it has only begun."""
    return {
        "id": id_,
        "type": "message",
        "status": "in_progress" if part is None else "completed",
        "role": "assistant",
        "content": [] if part is None else [part],
    }


def reasoning_item(id_: str, text: str | None) -> Item:
    """A thought, whole or, without a text, begun. What is called encrypted is the thought as it is."""
    if text is None:
        return {"id": id_, "type": "reasoning", "summary": []}
    summary = [{"type": "summary_text", "text": text}]
    return {"id": id_, "type": "reasoning", "summary": summary, "encrypted_content": text}


def call_item(id_: str, call: ToolCall, *, begun: bool = False) -> Item:
    """A call of a function, whole or only begun."""
    return {
        "id": id_,
        "type": "function_call",
        "status": "in_progress" if begun else "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": "" if begun else arguments_text(call.arguments),
    }


def search_item(id_: str, query: str, *, begun: bool = False) -> Item:
    """A search of the web, done or only begun."""
    return {
        "id": id_,
        "type": "web_search_call",
        "status": "in_progress" if begun else "completed",
        "action": {"type": "search", "query": query},
    }
