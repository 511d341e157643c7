"""How a message ends: why, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain.chunks import Done, DoneReason, Usage


def stop_members(done: Done, stops: Sequence[str], *, calls_tool: bool) -> dict[str, Any]:
    """``stop_reason``, and the stop sequence that was met if the client gave it (case B080)."""
    met = done.stop_sequence if done.stop_sequence in stops else None
    if calls_tool:
        return {"stop_reason": "tool_use", "stop_sequence": None}
    match done.reason:
        case DoneReason.STOP:
            reason = "end_turn" if met is None else "stop_sequence"
        case DoneReason.LENGTH:
            reason = "max_tokens"
        case _:
            reason = "stop_sequence"  # nothing was generated
    return {"stop_reason": reason, "stop_sequence": met}


def usage_members(usage: Usage) -> dict[str, int]:
    """The tokens of prompt and reply; ``input_tokens`` counts those read from the cache as well."""
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "cache_read_input_tokens": usage.cached_tokens,  # case B081
    }
