"""Every route of the native dialect."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.api import metrics
from orchestrator.api.native import (
    account,
    blobs,
    copy,
    create,
    delete,
    embedding,
    generation,
    ps,
    show,
    tags,
    transfers,
    version,
)
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState

_MODULES = (
    account, blobs, copy, create, delete, embedding, generation, metrics, ps, show, tags, transfers, version,
)  # fmt: skip


def native_routes(state: AppState) -> Iterator[Route]:
    """The routes of all modules of this package, and ``/metrics``."""
    for module in _MODULES:
        yield from module.routes(state)
