"""The rounds of a response: the model answers, and as long as it asks for searches it is asked again.

What the model wants searched is not shown to the client as calls but as searches the server did. Source:
``api-compat`` §9.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace

from orchestrator.api.search_tool import WEB_SEARCH
from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item, ToolCall, Usage, folded
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.inference.reply import Generation, Reply, Residency
from orchestrator.inference.search import Search, SearchFailed, results_text

MAX_SEARCHES = 3
PATIENCE_S = 300.0
"""How long all searches of one response may take."""

Ask = Callable[[ChatRequest], AbstractAsyncContextManager[Reply]]


@dataclass(frozen=True, slots=True)
class SearchBegun:
    """The server searches."""

    number: int
    query: str


@dataclass(frozen=True, slots=True)
class SearchDone:
    """It has found something."""

    number: int
    query: str


Step = Generation | Sequence[Chunk] | SearchBegun | SearchDone
"""What happens while a response comes about. A generation is told before its chunks."""


@dataclass(slots=True)
class Conversation:
    """One response on its way: what was asked, and what the model has said so far."""

    wanted: ChatRequest
    ask: Ask
    search: Search | None = None
    """``None`` when the client did not offer searches."""
    said: list[list[Chunk]] = field(default_factory=list)
    """The chunks of each round, searches among the calls."""
    queries: list[str] = field(default_factory=list)
    """What was searched."""
    done: Done = field(default_factory=lambda: Done(DoneReason.STOP))
    source: Generation | None = None
    _usages: list[Usage] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """What all rounds cost."""
        return Usage(
            prompt_tokens=sum(usage.prompt_tokens for usage in self._usages),
            cached_tokens=sum(usage.cached_tokens for usage in self._usages),
            completion_tokens=sum(usage.completion_tokens for usage in self._usages),
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation for whoever goes on with it; calls the client has to answer stand at its end."""
        earlier = [chunk for chunks in self.said[:-1] for chunk in self.visible(chunks)]
        last = spoken(self.said[-1])
        calls = (*spoken(earlier).tool_calls, *last.tool_calls)
        return (*self.wanted.messages, replace(last, tool_calls=calls))

    async def steps(self) -> AsyncGenerator[Step]:
        """Everything that happens, to the end. Raises ``SearchFailed``, and what asking raises."""
        while True:
            async with aclosing(self._round()) as steps:
                async for step in steps:
                    yield step
            calls = self._searches()
            if not calls:
                return
            turn = replace(spoken(self.said[-1]), tool_calls=tuple(calls))
            self.wanted = replace(self.wanted, messages=(*self.wanted.messages, turn))
            for call in calls:
                async with aclosing(self._searched(call)) as steps:
                    async for step in steps:
                        yield step

    def visible(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """``chunks`` without the calls that are the server's to answer."""
        if self.search is None:
            return list(chunks)
        return [
            chunk._replace(tool_calls=tuple(call for call in chunk.tool_calls if call.name != WEB_SEARCH))
            if chunk.tool_calls
            else chunk
            for chunk in chunks
        ]

    async def _round(self) -> AsyncGenerator[Step]:
        chunks: list[Chunk] = []
        self.said.append(chunks)
        async with self.ask(self.wanted) as reply:
            match reply:
                case Residency():
                    self.done = reply.done
                case Generation(items):
                    self.source = reply
                    yield reply
                    async for batch in items:
                        new = self._taken(batch)
                        chunks += new
                        yield self.visible(new)

    def _taken(self, batch: Sequence[Item]) -> list[Chunk]:
        chunks = []
        for item in batch:
            if isinstance(item, Done):
                self.done = item
                self._usages.append(item.usage)
            else:
                chunks.append(item)
        return chunks

    def _searches(self) -> list[ToolCall]:
        if self.search is None:
            return []
        calls = (call for chunk in self.said[-1] for call in chunk.tool_calls)
        return [call for call in calls if call.name == WEB_SEARCH]

    async def _searched(self, call: ToolCall) -> AsyncGenerator[Step]:
        assert self.search is not None
        query = call.arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            raise SearchFailed("web_search requires a non-empty string query")
        if len(self.queries) == MAX_SEARCHES:
            raise SearchFailed(f"web_search exceeded the maximum of {MAX_SEARCHES} calls")
        self.queries.append(query)
        number = len(self.queries)
        yield SearchBegun(number, query)
        try:
            async with asyncio.timeout(PATIENCE_S):
                results = await self.search(query)
        except TimeoutError as error:
            raise SearchFailed("web_search took too long") from error
        yield SearchDone(number, query)
        answer = Message("tool", results_text(results), tool_call_id=call.id)
        self.wanted = replace(self.wanted, messages=(*self.wanted.messages, answer))


def spoken(chunks: Sequence[Chunk]) -> Message:
    """What the model said, as a message of the conversation."""
    whole, _ = folded(chunks)
    return Message("assistant", whole.content, whole.thinking, tool_calls=whole.tool_calls)
