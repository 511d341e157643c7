"""Putting documents in the order in which they answer a query."""

from __future__ import annotations

import time
from dataclasses import dataclass

from orchestrator.domain.quoting import quoted
from orchestrator.domain.requests import RerankRequest
from orchestrator.errors import BadRequest
from orchestrator.inference.errors import MissingCapability, ModelRequired
from orchestrator.inference.service import Inference, refuse_replaced


class NothingToRank(BadRequest):
    """A request without a query, or without documents."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document's place in the request, and its score."""

    index: int
    score: float


@dataclass(frozen=True, slots=True)
class RerankReply:
    """The best documents, best first, and what it cost to find them. Durations are nanoseconds."""

    results: tuple[Ranked, ...]
    prompt_tokens: int
    total_duration_ns: int
    load_duration_ns: int


async def rerank(inference: Inference, request: RerankRequest) -> RerankReply:
    """The documents by their scores; those of equal score keep their order.

    Raises ``NothingToRank``, and ``MissingCapability`` for a model that gives no scores.
    """
    started_ns = time.perf_counter_ns()
    _check(request)
    model = await inference.open(request.model)
    inference.refuse_stub(model)
    refuse_replaced(model)
    if not model.files.facts.ranks:
        raise MissingCapability(
            f"{quoted(request.model)} does not support rerank: it is no model with rank pooling"
        )
    spec = inference.spec_of_reader(model, request.options)
    async with inference.scheduler.lease(spec, request.keep_alive) as lease:
        load_duration_ns = time.perf_counter_ns() - started_ns
        ranking = await lease.runner.rerank(request.query, request.documents)
    if inference.observer:
        inference.observer.tokens(prompt=ranking.tokens, completion=0)
    ranked = [Ranked(index, score) for index, score in enumerate(ranking.scores)]
    ranked.sort(key=lambda document: -document.score)
    return RerankReply(
        tuple(ranked[: request.top_n]),
        ranking.tokens,
        time.perf_counter_ns() - started_ns,
        load_duration_ns,
    )


def _check(request: RerankRequest) -> None:
    if not request.model.strip():
        raise ModelRequired
    if not request.query:
        raise NothingToRank("query is required")
    if not request.documents:
        raise NothingToRank("documents are required")
    if request.top_n is not None and request.top_n < 1:
        raise NothingToRank("top_n must be at least 1")
