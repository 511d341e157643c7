"""An engine in memory whose tokens are bytes: the process boundary of inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason
from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import RunnerFailed
from orchestrator.runners.base import ChatCall, CompletionCall, Embedding, Ranking

END = Done(DoneReason.STOP)


class ByteRunner:
    """Answers completions with scripted pieces, one per token, and remembers what it was asked."""

    def __init__(self, *replies: Sequence[str | Done]) -> None:
        self._replies = list(replies)
        self.calls: list[CompletionCall] = []
        self.tokenized: list[str] = []
        self.closed = 0

    @property
    def spec(self) -> LoadSpec:
        raise RunnerFailed("nothing was loaded")

    async def complete(self, call: CompletionCall) -> Batches:
        self.calls.append(call)
        try:
            for piece in self._replies.pop(0):
                yield [Chunk(piece)] if isinstance(piece, str) else [piece]
        finally:
            self.closed += 1

    async def chat(self, call: ChatCall) -> Batches:
        yield [END]

    async def apply_template(self, call: ChatCall) -> str:
        return "".join(f"<{message.role}>{message.content}\n" for message in call.messages)

    async def tokenize(self, text: str, *, add_special: bool = False) -> list[int]:
        self.tokenized.append(text)
        return [256] * add_special + list(text.encode())

    async def detokenize(self, tokens: Sequence[int]) -> str:
        return bytes(token for token in tokens if token < 256).decode(errors="replace")

    async def embed(self, text: str) -> Embedding:
        return Embedding((1.0,), len(text))

    async def rerank(self, query: str, documents: Sequence[str]) -> Ranking:
        return Ranking(tuple(float(len(document)) for document in documents), len(query))


async def gathered(items: Batches) -> list[Any]:
    """All items of a stream."""
    return [item async for batch in items for item in batch]
