"""What a reply tells beyond its text: what of the request had no effect, and what ended the reply early.

The members are ours, added to the last record of a reply in every dialect; the header is for clients that
look at headers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain.chunks import Done, StopDetail
from orchestrator.inference.reply import Generation, Overflow

TRUNCATED_HEADER = "Orch-Prompt-Truncated"

_DETAILS_WORTH_TELLING = {StopDetail.WINDOW, StopDetail.REPEAT}
"""Endings that ``done_reason`` does not tell from the usual ones (case B007).

A used up budget is the usual ``length``: its records stay what they are in Ollama, key for key.
"""


def truncation_headers(overflow: Overflow | None) -> dict[str, str]:
    """The header that tells what was left out of a prompt, if anything was."""
    if overflow is None:
        return {}
    facts = f"tokens={overflow.prompt_tokens}; num_ctx={overflow.num_ctx}"
    dropped = f"messages-dropped={overflow.messages_dropped}; tokens-dropped={overflow.tokens_dropped}"
    return {TRUNCATED_HEADER: f"{facts}; {dropped}"}


def warning_members(warnings: Sequence[str]) -> dict[str, Any]:
    """The member that tells what of a request did not take effect."""
    return {"warnings": list(warnings)} if warnings else {}


def told(done: Done, source: Generation | None, warnings: Sequence[str]) -> dict[str, Any]:
    """Members of the last record of a reply that ``source`` gave; ``warnings`` are those of the request."""
    if source is None:
        return disclosures(done, None, warnings)
    return disclosures(done, source.overflow, (*warnings, *source.warnings))


def disclosures(done: Done, overflow: Overflow | None, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Members of the last record: what ended the reply early, what of the request was left out."""
    members: dict[str, Any] = {}
    if done.detail in _DETAILS_WORTH_TELLING:
        members["done_detail"] = str(done.detail)
    if overflow is not None:
        members["prompt_truncated"] = True
        members["prompt_tokens_before"] = overflow.prompt_tokens
        if overflow.messages_dropped:
            members["messages_dropped"] = overflow.messages_dropped
        if overflow.tokens_dropped:
            members["prompt_tokens_dropped"] = overflow.tokens_dropped
    return members | warning_members((*warnings, *done.warnings))
