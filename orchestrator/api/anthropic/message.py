"""What all forms of one reply have in common."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from orchestrator.api.anthropic import convert
from orchestrator.api.anthropic.estimate import estimated_tokens
from orchestrator.api.disclosures import told
from orchestrator.api.search_tool import WEB_SEARCH
from orchestrator.domain.chunks import Done, ToolCall
from orchestrator.inference.reply import Generation
from orchestrator.wire import anthropic as wire


def _new_id() -> str:
    return f"msg_{secrets.token_hex(12)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFrame:
    """What is known of a message before its first token."""

    model: str
    id: str = field(default_factory=_new_id)
    stops: tuple[str, ...] = ()
    """The client's stop sequences."""
    signed: bool = False
    """Thoughts are signed: the client asked for them."""
    searches: bool = False
    """A call of ``web_search`` is for the server."""
    estimate: int = 1
    """What the prompt is taken to cost before the engine has counted."""
    warnings: tuple[str, ...] = ()
    """What of the request has no effect."""

    @classmethod
    def of(cls, body: wire.MessagesRequest, warnings: Iterable[str] = ()) -> MessageFrame:
        """The frame of the reply to a request."""
        return cls(
            model=body.model,
            stops=tuple(body.stop_sequences),
            signed=convert.wants_thoughts(body),
            searches=convert.offers_web_search(body.tools),
            estimate=estimated_tokens(body) if body.stream else 1,
            warnings=tuple(warnings),
        )

    @property
    def members(self) -> dict[str, Any]:
        """The members that every form begins with."""
        return {"id": self.id, "type": "message", "role": "assistant", "model": self.model}

    def disclosures(self, done: Done, source: Generation | None) -> dict[str, Any]:
        """Members of the end that tell what of the request was left out."""
        return told(done, source, self.warnings)

    def is_search(self, call: ToolCall) -> bool:
        """Whether a call is for the server, not for the client."""
        return self.searches and call.name == WEB_SEARCH


def signature(thought: str) -> str:
    """What stands for the origin of a thought: its digest. Nobody checks it when it comes back."""
    return base64.b64encode(hashlib.sha256(thought.encode(errors="replace")).digest()).decode()
