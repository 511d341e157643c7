"""Requests that prove who sends them. Source: ``store`` §7.4."""

from __future__ import annotations

import time
from collections.abc import Generator

import httpx

from orchestrator.registry.key import Identity


class SignedRequests(httpx.Auth):
    """Adds the time to each request, and a signature of its method, path and time.

    ``below`` is the path of the server's base URL, which the server itself may not know.
    """

    def __init__(self, identity: Identity, *, below: str = "") -> None:
        self._identity = identity
        self._below = below.rstrip("/")

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Raises ``UnusableKey``."""
        now = str(int(time.time()))
        path = request.url.path.removeprefix(self._below)
        request.url = request.url.copy_set_param("ts", now)
        request.headers["Authorization"] = self._identity.authorization(f"{request.method},{path}?ts={now}")
        yield request
