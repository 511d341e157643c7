"""Log probabilities as members of a reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain.chunks import TokenLogprob


def logprob_members(logprobs: Sequence[TokenLogprob]) -> list[dict[str, Any]]:
    """One object per token: ``bytes`` are the UTF-8 of a token that is not empty."""
    members = []
    for entry in logprobs:
        member = _token_member(entry.token, entry.logprob)
        if entry.top:
            member["top_logprobs"] = [_token_member(top.token, top.logprob) for top in entry.top]
        members.append(member)
    return members


def _token_member(token: str, logprob: float) -> dict[str, Any]:
    member: dict[str, Any] = {"token": token, "logprob": logprob}
    if token:
        member["bytes"] = list(token.encode())
    return member
