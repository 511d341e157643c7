"""A reply in one piece. Source: ``api-compat`` §8.3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.api.anthropic.ending import stop_members, usage_members
from orchestrator.api.anthropic.message import MessageFrame, signature
from orchestrator.api.anthropic.searches import failed_search
from orchestrator.api.disclosures import disclosures
from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item
from orchestrator.inference.output import new_call_id
from orchestrator.inference.reply import Overflow


def whole_message(
    frame: MessageFrame, items: Sequence[Item], overflow: Overflow | None = None
) -> dict[str, Any]:
    """The message that ``items`` make: thoughts, text, then calls."""
    chunks = [item for item in items if isinstance(item, Chunk)]
    done = next((item for item in items if isinstance(item, Done)), Done(DoneReason.STOP))
    blocks = list(_blocks(frame, chunks))
    calls_tool = any(block["type"] == "tool_use" for block in blocks)
    return {
        **frame.members,
        "content": blocks or None,
        **stop_members(done, frame.stops, calls_tool=calls_tool),
        "usage": usage_members(done.usage),
        **disclosures(done, overflow),
    }


def _blocks(frame: MessageFrame, chunks: Sequence[Chunk]) -> Iterator[dict[str, Any]]:
    if thought := "".join(chunk.thinking for chunk in chunks):
        yield {
            "type": "thinking",
            "thinking": thought,
            "signature": signature(thought) if frame.signed else "",
        }
    if text := "".join(chunk.content for chunk in chunks):
        yield {"type": "text", "text": text}
    calls = [call for chunk in chunks for call in chunk.tool_calls]
    for call in calls:
        if not frame.is_search(call):
            yield {
                "type": "tool_use",
                "id": call.id or new_call_id(),
                "name": call.name,
                "input": call.arguments,
            }
    search = next(filter(frame.is_search, calls), None)
    if search is not None:
        yield from failed_search(search, frame.id)
