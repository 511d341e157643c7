"""All routes of the native API."""

from __future__ import annotations

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
    version, generation, embedding, tags, ps, show, create, blobs, copy, delete, transfers, account,
)  # fmt: skip


def native_routes(state: AppState) -> tuple[Route, ...]:
    """The routes of Ollama's own API, ``/`` among them."""
    return tuple(route for module in _MODULES for route in module.routes(state))
