"""All routes of the native API, and which module answers them."""

from __future__ import annotations

from orchestrator.api.native import version
from orchestrator.api.routing import Route, deferred
from orchestrator.api.state import AppState

MODULES = {
    "orchestrator.api.native.generation": ("POST /api/chat", "POST /api/generate"),
    "orchestrator.api.native.embedding": ("POST /api/embed", "POST /api/embeddings"),
    "orchestrator.api.native.tags": ("HEAD /api/tags", "GET /api/tags"),
    "orchestrator.api.native.ps": ("GET /api/ps",),
    "orchestrator.api.native.show": ("POST /api/show",),
    "orchestrator.api.native.create": ("POST /api/create",),
    "orchestrator.api.native.blobs": ("POST /api/blobs/{digest}", "HEAD /api/blobs/{digest}"),
    "orchestrator.api.native.copy": ("POST /api/copy",),
    "orchestrator.api.native.delete": ("DELETE /api/delete",),
    "orchestrator.api.native.transfers": ("POST /api/pull", "POST /api/push"),
    "orchestrator.api.native.upkeep": ("POST /api/prune", "POST /api/verify"),
    "orchestrator.api.native.archives": ("POST /api/export", "POST /api/import"),
    "orchestrator.api.rerank": ("POST /api/rerank",),
    "orchestrator.api.native.account": (
        "POST /api/me",
        "POST /api/signout",
        "DELETE /api/user/keys/{key}",
        "POST /api/experimental/web_search",
        "POST /api/experimental/web_fetch",
        "GET /api/experimental/model-recommendations",
    ),
}


def native_routes(state: AppState) -> tuple[Route, ...]:
    """The routes of Ollama's own API, ``/`` among them."""
    return (*version.routes(state), *deferred(state, MODULES))
