"""Which handler a request goes to: exact paths, paths with one parameter, and what is said of all others."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from orchestrator.api.state import AppState

_ABSOLUTE = re.compile(r"https?://(?:[^/?#@]*@)?(?P<host>[^/?#]*)(?P<path>.*)", re.IGNORECASE | re.DOTALL)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


PARAMETER = web.RequestKey("parameter", str)


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path. A last segment in braces (``/api/blobs/{digest}``) matches any one segment.

    A path that ends in ``*}`` (``/v1/models/{model*}``) matches the whole rest, slashes included.
    """

    method: str
    path: str
    handler: Handler


def deferred(state: AppState, modules: Mapping[str, Iterable[str]]) -> tuple[Route, ...]:
    """Routes whose modules are imported when the first request for one of them comes.

    ``modules`` maps the name of a module that has ``routes(state)`` to its routes, as ``"GET /api/ps"``. So a
    daemon starts at once, and one that is never asked for a dialect never holds it in memory.
    """
    found = []
    for name, routes in modules.items():
        module = _Module(name, state)
        for route in routes:
            method, _, path = route.partition(" ")
            found.append(Route(method, path, module.handler(method, path)))
    return tuple(found)


class _Module:
    """A module of handlers that may not be imported yet."""

    def __init__(self, name: str, state: AppState) -> None:
        self._name = name
        self._state = state
        self._handlers: dict[tuple[str, str], Handler] = {}
        self._importing = asyncio.Lock()

    def handler(self, method: str, path: str) -> Handler:
        """What answers a request for one route, by way of the module."""

        async def answer(request: web.Request) -> web.StreamResponse:
            handler = self._handlers.get((method, path)) or await self._imported(method, path)
            return await handler(request)

        return answer

    async def _imported(self, method: str, path: str) -> Handler:
        """The handler of a route. Requests that come meanwhile wait in line: who came first goes first."""
        async with self._importing:
            if not self._handlers:
                module = await asyncio.to_thread(import_module, self._name)
                routes: Iterable[Route] = module.routes(self._state)
                self._handlers = {(route.method, route.path): route.handler for route in routes}
        return self._handlers[method, path]


@dataclass(frozen=True, slots=True)
class Target:
    """What is routed at a path: the handlers by method, and the value of the parameter."""

    path: str
    """The route's path, braces and all: the label of metrics."""
    handlers: Mapping[str, Handler]
    parameter: str = ""

    @property
    def allow(self) -> str:
        """The ``Allow`` header."""
        return ", ".join(self.handlers)


@dataclass(frozen=True, slots=True)
class _Prefix:
    """Routes with a parameter after ``prefix``."""

    prefix: str
    path: str
    whole_rest: bool
    handlers: dict[str, Handler]

    def match(self, path: str) -> Target | None:
        if not path.startswith(self.prefix) or len(path) == len(self.prefix):
            return None
        rest = path[len(self.prefix) :]
        if "/" in rest and not self.whole_rest:
            return None
        return Target(self.path, self.handlers, rest)


class Router:
    """All routes of the daemon; looking one up is one access of a dictionary for most."""

    def __init__(self, routes: Iterable[Route]) -> None:
        fixed: dict[str, dict[str, Handler]] = {}
        prefixes: dict[str, _Prefix] = {}
        for route in routes:
            prefix, brace, rest = route.path.partition("{")
            if brace:
                new = _Prefix(prefix, route.path, rest.endswith("*}"), {})
                handlers = prefixes.setdefault(prefix, new).handlers
            else:
                handlers = fixed.setdefault(route.path, {})
            handlers[route.method] = route.handler
        self._fixed = {path: Target(path, handlers) for path, handlers in fixed.items()}
        self._prefixes = tuple(prefixes.values())

    def find(self, path: str) -> Target | None:
        """What is routed at the decoded ``path``."""
        target = self._fixed.get(path)
        if target is not None:
            return target
        return next((found for prefix in self._prefixes if (found := prefix.match(path))), None)

    def redirect(self, method: str, path: str) -> str | None:
        """Where a path with one slash too many should go, if ``method`` is routed there."""
        if len(path) < 2 or not path.endswith("/"):
            return None
        target = self.find(path[:-1])
        return path[:-1] if target is not None and method in target.handlers else None


def target_of(text: str) -> tuple[str, str]:
    """Host and path of the target in a request line, both as written.

    The host is empty unless the client speaks as to a proxy (``GET http://host/path``), which every server
    has to understand; then it counts in place of the ``Host`` header. Source: RFC 9112 §3.2.2.
    """
    if text.startswith("/") or (absolute := _ABSOLUTE.match(text)) is None:
        return "", text
    return absolute["host"], absolute["path"] if absolute["path"].startswith("/") else f"/{absolute['path']}"


def cleaned(path: str) -> str:
    """``path`` without empty segments and dots, a slash at the end kept; itself when nothing is to do."""
    if "//" not in path and "/." not in path:
        return path
    clean = posixpath.normpath("/" + path.lstrip("/"))
    return clean + "/" if path.endswith("/") and clean != "/" else clean


def parameter(request: web.Request) -> str:
    """What stands in the place of the braces in the path of ``request``."""
    return request[PARAMETER]
