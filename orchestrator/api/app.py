"""Everything between a connection and a handler: clean paths, who may call, routing, errors, log, metrics.

One coroutine does it all instead of a tower of middlewares, for most requests last a fraction of a
millisecond. The order is Ollama's (``api-native`` §2): malformed and unclean paths, a slash too many, origin,
host, then the route; who asks is looked at before the last.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote, unquote

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from orchestrator.api import metrics
from orchestrator.api.access import CHALLENGE
from orchestrator.api.errors import NATIVE, Dialect, log_hint
from orchestrator.api.hosts import HostKind, host_kind
from orchestrator.api.origins import is_same_origin
from orchestrator.api.replies import empty_reply, json_reply, text_reply
from orchestrator.api.requestlog import LOGGED_PATHS
from orchestrator.api.routing import PARAMETER, Route, Router, Target, cleaned, target_of
from orchestrator.api.state import AppState
from orchestrator.api.streams import HUNG_UP
from orchestrator.api.unreadable import library_logger
from orchestrator.errors import OrchestratorError, Unauthorized
from orchestrator.logs import request_id

logger = logging.getLogger(__name__)

LONGEST_HEADER_BYTES = 1 << 20
"""Of a request: proxies and sign-in pages add tokens of many kilobytes. Go's limit."""
_SERVER_OPTIONS: Mapping[str, Any] = {
    "handler_cancellation": True,  # a client that leaves ends its handler
    "access_log": None,  # the log below says more
    "keepalive_timeout": 120.0,  # also how long the headers of a request may take
    "auto_decompress": False,
    "logger": library_logger,
    "max_line_size": LONGEST_HEADER_BYTES,
    "max_field_size": LONGEST_HEADER_BYTES,
}

_UNROUTED = "other"
_CLIENT_LEFT = 499
_PROBES = frozenset({"/", "/api/version", "/metrics"})
"""Asked over and over by those who only watch; such requests are logged at DEBUG."""
_CORS = web.RequestKey("cors", Mapping[str, str])
_USER = web.RequestKey("user", str)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PATH_SAFE = "/:@!$&'()*+,;=-._~"


def make_server(state: AppState, routes: Iterable[Route], **options: Any) -> web.Server:
    """What serves ``routes``, and ``/metrics``; ``options`` of aiohttp's server stand above ours.

    The router, the signals and the match of an ``Application`` would cost every request more than the rest of
    what happens here. Needs a running event loop.
    """
    front = _Front(state, Router([*routes, *metrics.routes(state)]))
    return web.Server(
        cast(Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], front.answer),  # see _request
        request_factory=partial(_request, asyncio.get_running_loop(), state.max_body_bytes),
        **{**_SERVER_OPTIONS, **options},
    )


class _Request(web.Request):
    """A request that belongs to no ``Application``."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        """The last touch to the headers of every reply, streams and refusals of aiohttp included."""
        headers = response.headers
        headers.popall("Server", None)
        cors = self.get(_CORS)
        if cors is not None:
            headers.update(cors)


def _request(
    loop: asyncio.AbstractEventLoop,
    max_body_bytes: int,
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> _Request:
    return _Request(message, payload, protocol, writer, task, loop, client_max_size=max_body_bytes)


class _Front:
    """Answers every request."""

    def __init__(self, state: AppState, router: Router) -> None:
        self._state = state
        self._router = router
        self._ids = itertools.count(1)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The reply, whatever happens. Only cancellation is raised, when the client has left."""
        request_id.set(f"{next(self._ids):x}")
        started = time.perf_counter()
        path = unquote(target_of(request.raw_path)[1].partition("?")[0])
        target = self._router.find(path)
        status: int | None = None
        try:
            response = await self._guarded(request, path, target)
            status = response.status
            return response
        finally:
            if status is None:
                status = request.get(HUNG_UP, _CLIENT_LEFT)
            self._report(request, path, target, status, time.perf_counter() - started)

    async def _guarded(self, request: web.Request, path: str, target: Target | None) -> web.StreamResponse:
        try:
            return self._redirected(request, path, target) or await self._admitted(request, path, target)
        except OrchestratorError as error:
            log_hint(error)
            return NATIVE.reply(error)
        except ConnectionResetError:
            raise
        except Exception:
            logger.exception("request failed by a fault of ours")
            return empty_reply(500)

    def _redirected(self, request: web.Request, path: str, target: Target | None) -> web.Response | None:
        """The reply to a path that is written wrongly."""
        if "%" in request.raw_path and _BAD_ESCAPE.search(request.raw_path.partition("?")[0]):
            response = text_reply("400 Bad Request", status=400, content_type="text/plain; charset=utf-8")
            response.force_close()
            return response
        if (clean := cleaned(path)) != path:
            return _redirect(request, 307, clean)
        if target is not None:
            return None
        method = request.method
        if (shorter := self._router.redirect(method, path)) is not None:
            return _redirect(request, 301 if method == "GET" else 307, shorter)
        return None

    async def _admitted(self, request: web.Request, path: str, target: Target | None) -> web.StreamResponse:
        """The reply after origin, host and key have been looked at."""
        refused = self._origin_reply(request) or self._host_reply(request) or self._key_reply(request, path)
        if refused is not None:
            return refused
        if target is None:
            return text_reply("404 page not found", status=404)
        handler = target.handlers.get(request.method)
        if handler is None:
            response = text_reply("405 method not allowed", status=405)
            response.headers["Allow"] = target.allow
            return response
        if target.parameter:
            request[PARAMETER] = target.parameter
        if "Expect" in request.headers and (unmet := await _unmet_expectation(request)):
            return unmet
        if self._state.request_log is None or path not in LOGGED_PATHS:
            return await handler(request)
        try:
            return await handler(request)
        finally:
            await self._keep(request, path)

    def _origin_reply(self, request: web.Request) -> web.Response | None:
        """The end of a request from a page: a refusal, or the answer to a preflight."""
        headers, origins = request.headers, self._state.origins
        origin = headers.get("Origin")
        if not origin or is_same_origin(origin, _host_of(request)):
            return None
        if not origins.allow(origin):
            logger.warning("origin refused; OLLAMA_ORIGINS lists those allowed", extra={"origin": origin})
            return _refusal(
                request, f"origin {origin!r} is not allowed; add it to OLLAMA_ORIGINS to allow it"
            )
        if request.method == "OPTIONS":
            request[_CORS] = origins.preflight_headers(origin)
            return empty_reply(204)
        request[_CORS] = origins.headers(origin)
        return None

    def _host_reply(self, request: web.Request) -> web.Response | None:
        """The end of a request that was sent to somebody else's name, or only asks what is allowed."""
        if not self._state.check_hosts:
            return None
        host = _host_of(request)
        match host_kind(host):
            case HostKind.FOREIGN:
                logger.warning("host refused; set OLLAMA_HOST to listen for it", extra={"host": host})
                return _refusal(
                    request, f"host {host!r} is not this machine; set OLLAMA_HOST to listen for it"
                )
            case HostKind.NAME if request.method == "OPTIONS":
                return empty_reply(204)
            case _:
                return None

    def _key_reply(self, request: web.Request, path: str) -> web.Response | None:
        """The refusal of somebody without an API key, where one is wanted; anybody may see that we are up."""
        access = self._state.access
        if access is None or path == "/":
            return None
        try:
            request[_USER] = access.user(request.headers)
        except Unauthorized as error:
            return _dialect_of(path).refusal(error, headers={"WWW-Authenticate": CHALLENGE})
        return None

    async def _keep(self, request: web.Request, path: str) -> None:
        """Write the request to the files of ``OLLAMA_DEBUG_LOG_REQUESTS``."""
        log = self._state.request_log
        if log is None:
            return
        from orchestrator.api.bodies import read_body  # and all that reads models of bodies

        try:
            body = await read_body(request)
            await asyncio.to_thread(log.write, path, body, request.headers)
        except (OSError, OrchestratorError) as error:
            logger.warning("request not logged: %s", error)

    def _report(
        self, request: web.Request, path: str, target: Target | None, status: int, seconds: float
    ) -> None:
        route = _UNROUTED if target is None else target.path
        self._state.metrics.request_ended(route, request.method, status, seconds)
        level = logging.DEBUG if path in _PROBES else logging.INFO
        if logger.isEnabledFor(level):
            facts = {"status": status, "ms": round(seconds * 1e3, 3), "client": request.remote}
            if user := request.get(_USER):
                facts["user"] = user
            logger.log(level, "request", extra={"method": request.method, "path": path, **facts})


def _dialect_of(path: str) -> Dialect:
    """The dialect in which a client reads errors, whether its path is routed or not."""
    if path.startswith("/v1/messages"):
        from orchestrator.api.anthropic.errors import ANTHROPIC

        return ANTHROPIC
    if path.startswith("/v1/"):
        from orchestrator.api.openai.errors import OPENAI

        return OPENAI
    return NATIVE


def _host_of(request: web.Request) -> str:
    """Whom the request is for, as it says itself."""
    return target_of(request.raw_path)[0] or request.headers.get("Host", "")


async def _unmet_expectation(request: web.Request) -> web.Response | None:
    """Tell a client that waits for it to send its body; the refusal of anything else that it expects."""
    expected = request.headers["Expect"]
    if expected.lower() != "100-continue":
        return text_reply(f"unknown expectation: {expected}", status=HTTPStatus.EXPECTATION_FAILED)
    if request.version >= HttpVersion11:
        await request.writer.write(_CONTINUE)
        request.writer.output_size = 0  # the reply itself has not begun
    return None


def _refusal(request: web.Request, reason: str) -> web.Response:
    """A refusal that says why to those who accept text (case B153); Ollama's is empty, and so for others."""
    if "Accept" not in request.headers or request.method == "OPTIONS":
        return empty_reply(403)
    return json_reply({"error": reason}, status=403)


def _redirect(request: web.Request, status: int, path: str) -> web.Response:
    """A redirect to ``path`` on this server, the query kept."""
    query = request.raw_path.partition("?")[2]
    location = quote(path, safe=_PATH_SAFE) + (f"?{query}" if query else "")
    words = "Moved Permanently" if status == 301 else "Temporary Redirect"
    response = web.Response(status=status, headers={"Location": location})
    if request.method in ("GET", "HEAD"):
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        response.body = f'<a href="{location.replace("&", "&amp;")}">{words}</a>.\n\n'.encode()
    return response
