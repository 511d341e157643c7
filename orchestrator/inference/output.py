"""From the engine's raw text to content, thinking and tool calls, batch by batch."""

from __future__ import annotations

import secrets
import string
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from orchestrator.domain.chunks import Batches, Chunk, Done, Item, ToolCall
from orchestrator.parsers.base import Parsed, Parser

_ID_ALPHABET = string.ascii_lowercase + string.digits


def new_call_id() -> str:
    """A fresh id for a tool call: ``call_`` and eight characters of ``a-z0-9``."""
    return "call_" + "".join(secrets.choice(_ID_ALPHABET) for _ in range(8))


class Splitter:
    """Feeds a parser and makes chunks of what it finds. Call ids and indices count over the whole reply."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._calls = 0

    def split(self, batch: Sequence[Item]) -> list[Item]:
        """The items of ``batch`` with their text split; what the parser holds back comes later."""
        out: list[Item] = []
        feed = self._parser.feed
        for item in batch:
            if isinstance(item, Done):
                self._append(out, self._parser.close(), Chunk())
                out.append(item)
            else:
                self._append(out, feed(item.content), item)
        return out

    def _append(self, out: list[Item], parsed: Parsed, source: Chunk) -> None:
        calls = self._numbered(parsed.calls) if parsed.calls else ()
        if parsed.content or parsed.thinking or calls or source.logprobs:
            out.append(Chunk(parsed.content, parsed.thinking, calls, source.logprobs))

    def _numbered(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        first, self._calls = self._calls, self._calls + len(calls)
        return tuple(replace(call, index=first + i, id=new_call_id()) for i, call in enumerate(calls))


def split(items: Batches, parser: Parser | None) -> Batches:
    """``items`` with every batch split by ``parser``; batches in which all was held back are left out."""
    return items if parser is None else _split(items, Splitter(parser))


async def _split(items: Batches, splitter: Splitter) -> Batches:
    async with aclosing(items):
        async for batch in items:
            if found := splitter.split(batch):
                yield found
