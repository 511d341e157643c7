"""What a chat of this dialect says in vain, although its keys are known.

Ollama takes any message: every role, a null, one without content. Source: ``api-native`` §1.1, §9.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.api.warnings import unusual_roles
from orchestrator.wire import native as wire

_SAYING = frozenset({"content", "thinking", "images", "tool_calls"})
"""What a message may say something with."""


def in_chat(body: wire.ChatRequest) -> Iterator[str]:
    """One text for each message that may not count, or counts as an empty one."""
    messages = body.messages or ()
    yield from unusual_roles(message.role for message in messages)
    for index, message in enumerate(messages):
        if message.model_fields_set.isdisjoint(_SAYING):
            yield f"messages[{index}] has no content: it counts as an empty one"
