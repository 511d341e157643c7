"""Replies with one call of a tool at most, for clients that can make only one at a time."""

from __future__ import annotations

from contextlib import aclosing

from orchestrator.domain.chunks import Batches, Chunk, Item


async def single_call(items: Batches) -> Batches:
    """``items`` without the calls after the first one; batches in which nothing is left are left out."""
    called = False
    async with aclosing(items):
        async for batch in items:
            kept: list[Item] = []
            for item in batch:
                if isinstance(item, Chunk) and item.tool_calls:
                    item = item._replace(tool_calls=() if called else item.tool_calls[:1])
                    called = True
                    if not any(item):
                        continue
                kept.append(item)
            if kept:
                yield kept
