"""Searching the web for a model that asked for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from orchestrator.errors import OrchestratorError


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page that was found."""

    title: str
    url: str
    content: str = ""


class SearchFailed(OrchestratorError):
    """A search without a result; ``status`` is what the service answered."""

    def __init__(self, message: str, *, status: int = 502) -> None:
        super().__init__(message)
        self.status = status


Search = Callable[[str], Awaitable[Sequence[SearchResult]]]
"""Finds pages for a query. Raises ``SearchFailed``."""


async def no_search(query: str) -> Sequence[SearchResult]:
    """What a server without a search service does."""
    raise SearchFailed("web_search is unavailable: this server has no search service", status=503)


def results_text(results: Sequence[SearchResult]) -> str:
    """The results as the model reads them."""
    return "".join(
        f"Title: {result.title}\nURL: {result.url}\n"
        + (f"Content: {result.content}\n" if result.content else "")
        + "\n"
        for result in results
    )
