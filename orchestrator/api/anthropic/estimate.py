"""A guess at the tokens of a request, for the event that opens a stream before the engine has counted.

A token is taken for four bytes. Source: ``api-compat`` §8.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from orchestrator.domain.prompt_json import compact
from orchestrator.domain.prompt_json import raw as spaced
from orchestrator.wire import anthropic as wire
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.model import decode

_BYTES_PER_TOKEN = 4


def estimated_tokens(body: wire.MessagesRequest) -> int:
    """Tokens the prompt may have, at least one."""
    size = sum(len(text.encode(errors="replace")) for text in _texts(body))
    return max(size // _BYTES_PER_TOKEN, 1)


def _texts(body: wire.MessagesRequest) -> Iterator[str]:
    """All text that will stand in the prompt in one form or another."""
    yield from _system_texts(body.system)
    for turn in body.messages:
        yield turn.role
        for block in turn.content:
            yield from _block_texts(block)
    for tool in body.tools:
        yield from (tool.name, tool.description)
        if tool.input_schema is not None:
            yield spaced(tool.input_schema)  # Ollama takes it as it was sent


def _system_texts(system: Any) -> Iterator[str]:
    match system:
        case None:
            return
        case str():
            yield system
        case list():
            for block in system:
                with suppress(InvalidBody):
                    yield from _block_texts(decode(block, wire.ContentBlock))
        case _:
            yield compact(system)


def _block_texts(block: wire.ContentBlock) -> Iterator[str]:
    """Texts and thoughts, in whatever kind of block they are; calls and their results as they were sent."""
    yield block.text or ""
    yield block.thinking or ""
    if block.type in ("tool_use", "tool_result"):
        yield compact({name: value for name, value in block.model_dump().items() if name != "cache_control"})
