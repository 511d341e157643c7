"""A small registry that takes pushes in each of the ways registries have, gives back what it has, and can be
told to fail.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(slots=True)
class OciRegistry:
    """What it holds, how it behaves, and what it was asked."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, bytearray] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by method and kind: ``HEAD blob``, ``POST upload``, ``PATCH part``, …"""
    queries: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    failures: list[tuple[str, int]] = field(default_factory=list)
    """What is answered to the next requests of a kind in place of the truth; 0 cuts the connection."""
    refused: dict[str, int] = field(default_factory=dict)
    """What is answered to all requests of a kind."""
    redirects_parts: bool = False
    loses_half: bool = False
    """The next part is cut off in its middle, and half of it is kept."""
    forgets_uploads: bool = False
    """After a cut, nothing is known of the upload."""
    least_chunk: int = 0
    is_deaf: bool = False
    """Parts are neither read nor answered."""
    token_uses: int = 0
    """How many requests a token is good for; 0 wants none."""
    port: int = 0
    received: bytearray = field(default_factory=bytearray)
    _uses: Counter[str] = field(default_factory=Counter)
    _ids: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def name(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        kind = _kind(request)
        self.asked[kind] += 1
        self.headers.append(dict(request.headers) | {"kind": kind})
        self.queries.append(dict(request.query) | {"kind": kind})
        if request.path == "/token":
            return web.json_response({"token": f"token-{next(self._ids)}"})
        if self.token_uses and not self._is_admitted(request):
            challenge = (
                f'Bearer realm="http://{self.name}/token",service="oci",scope="repository:lib/owl:push"'
            )
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        if (status := self._failure(kind)) is not None:
            if not status:
                assert request.transport is not None
                request.transport.abort()
            await request.read()
            return web.Response(status=status or 500, text="out of order")
        return await self._truth(kind, request)

    def _is_admitted(self, request: web.Request) -> bool:
        shown = request.headers.get("Authorization", "")
        self._uses[shown] += 1
        return shown.startswith("Bearer token-") and self._uses[shown] <= self.token_uses

    def _failure(self, kind: str) -> int | None:
        for index, (which, status) in enumerate(self.failures):
            if which == kind:
                del self.failures[index]
                return status
        return self.refused.get(kind)

    async def _truth(self, kind: str, request: web.Request) -> web.StreamResponse:
        last = request.path.rsplit("/", 1)[-1]
        match kind:
            case "HEAD blob" if last in self.blobs:
                return web.Response(headers={"Content-Length": str(len(self.blobs[last]))})
            case "POST upload":
                return self._begin(request)
            case "PATCH part":
                return await self._part(request, last)
            case "PUT direct":
                return await self._direct(request)
            case "GET upload":
                return self._progress(request, last)
            case "PUT upload":
                return await self._commit(request, last)
            case "GET blob" if last in self.blobs:
                return _ranged(request, self.blobs[last])
            case "GET manifest" if request.path in self.manifests:
                return web.Response(body=self.manifests[request.path])
            case "PUT manifest":
                self.manifests[request.path] = await request.read()
                return web.Response(status=201)
        return web.Response(status=404)

    def _begin(self, request: web.Request) -> web.Response:
        if request.query.get("mount") in self.blobs and request.query.get("from") == "lib/other":
            return web.Response(status=201)
        upload = str(next(self._ids))
        self.uploads[upload] = bytearray()
        headers = {"Location": f"{request.path}{upload}?state=a%2Bb"}
        if self.least_chunk:
            headers["OCI-Chunk-Min-Length"] = str(self.least_chunk)
        return web.Response(status=202, headers=headers)

    async def _part(self, request: web.Request, upload: str) -> web.Response:
        if self.is_deaf:
            await asyncio.get_running_loop().create_future()
        location = {"Location": f"{request.path}?state=a%2Bb"}
        if self.redirects_parts:
            at = request.headers["Content-Range"].partition("-")[0]
            target = f"http://localhost:{self.port}/direct/{upload}/{at}"
            return web.Response(
                status=307, headers={"Location": target, "Docker-Upload-Location": location["Location"]}
            )
        held = self.uploads.get(upload)
        if held is None or int(request.headers["Content-Range"].partition("-")[0]) != len(held):
            return web.Response(status=416)
        if self.loses_half:
            self.loses_half = False
            if self.forgets_uploads:
                del self.uploads[upload]
            held += await request.content.readexactly(int(request.headers["Content-Length"]) // 2)
            assert request.transport is not None
            request.transport.abort()
            return web.Response(status=500)
        held += await request.read()
        return web.Response(status=202, headers=location)

    async def _direct(self, request: web.Request) -> web.Response:
        _, _, upload, at = request.path.split("/")
        content = await request.read()
        held, end = self.uploads[upload], int(at) + len(content)
        held.extend(bytes(max(end - len(held), 0)))  # parts come in any order
        held[int(at) : end] = content
        return web.Response(status=200)

    def _progress(self, request: web.Request, upload: str) -> web.Response:
        if (held := self.uploads.get(upload)) is None:
            return web.Response(status=404)
        headers = {"Range": f"0-{max(len(held) - 1, 0)}", "Location": f"{request.path}?state=c"}
        return web.Response(status=204, headers=headers)

    async def _commit(self, request: web.Request, upload: str) -> web.Response:
        if (held := self.uploads.pop(upload, None)) is None:
            return web.Response(status=404)
        content = bytes(held) + await request.read()
        if digest_of(content) != request.query["digest"]:
            return web.Response(status=400, text='{"errors":[{"code":"DIGEST_INVALID"}]}')
        self.blobs[digest_of(content)] = content
        return web.Response(status=201)


def _ranged(request: web.Request, content: bytes) -> web.Response:
    if (wanted := request.http_range) == slice(None, None, 1):
        return web.Response(body=content)
    part = content[wanted]
    first = wanted.start or 0
    headers = {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(content)}"}
    return web.Response(status=206, body=part, headers=headers)


def _kind(request: web.Request) -> str:
    match request.path.split("/"):
        case [*_, "blobs", "uploads", _]:
            what = "upload"
        case [*_, "blobs", _]:
            what = "blob"
        case [*_, "manifests", _]:
            what = "manifest"
        case ["", "direct", *_]:
            what = "direct"
        case _:
            what = "other"
    return f"{request.method} {'part' if request.method == 'PATCH' else what}"


@asynccontextmanager
async def oci_registry() -> AsyncIterator[OciRegistry]:
    """A registry on a loopback port."""
    registry = OciRegistry()
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", registry.answer)
    async with TestServer(app) as server:
        assert server.port is not None
        registry.port = server.port
        yield registry
