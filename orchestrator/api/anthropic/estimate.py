"""A guess at the tokens of a request, for the event that opens a stream before the engine has counted.

A token is taken for four bytes. Source: ``api-compat`` §8.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.api.anthropic.conversation import system_text
from orchestrator.domain.prompt_json import compact
from orchestrator.domain.prompt_json import raw as spaced
from orchestrator.wire import anthropic as wire

_BYTES_PER_TOKEN = 4


def estimated_tokens(body: wire.MessagesRequest) -> int:
    """Tokens the prompt may have, at least one."""
    size = sum(len(text.encode(errors="replace")) for text in _texts(body))
    return max(size // _BYTES_PER_TOKEN, 1)


def _texts(body: wire.MessagesRequest) -> Iterator[str]:
    """All text that will stand in the prompt in one form or another."""
    if body.system is not None:
        is_text = isinstance(body.system, str | list)
        yield system_text(body.system) if is_text else compact(body.system)
    for turn in body.messages:
        yield turn.role
        yield from map(_block_text, turn.content)
    for tool in body.tools:
        yield from (tool.name, tool.description)
        if tool.input_schema is not None:
            yield spaced(tool.input_schema)  # Ollama takes it as it was sent


def _block_text(block: wire.ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text or ""
        case "thinking":
            return block.thinking or ""
        case "tool_use" | "tool_result":
            return compact({k: v for k, v in block.model_dump().items() if k != "cache_control"})
    return ""
