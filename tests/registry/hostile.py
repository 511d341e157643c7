"""A registry on a loopback port that misbehaves as it is told: a real server that can lie at any byte.

It serves models over HTTP/1.1 with ranges, as registries do. A *fault* is a function that gets the honest
answer to a request and gives another one; ``Registry.faults`` names those of the coming requests, by what is
asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from urllib.parse import parse_qs, urlsplit

_PIECE_BYTES = 64 << 10
_CONFIG = b'{"model_format":"gguf","architecture":"amd64","os":"linux"}\n'
MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"


@dataclass(frozen=True)
class Request:
    """What a client asked for."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query)

    @property
    def kind(self) -> str:
        """``manifest``, ``blob``, ``token`` or ``other``."""
        for word in ("manifest", "blob", "token"):
            if f"/{word}" in self.path:
                return word
        return "other"


@dataclass(frozen=True)
class Reply:
    """What is answered, and what goes wrong on the way."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    length: int | None = None
    """The length that is claimed, if it is not the true one; -1 claims none."""
    cut_after: int | None = None
    """Bytes of the body after which the connection is closed."""
    stall_after: int | None = None
    """Bytes of the body after which nothing comes any more."""
    gate: asyncio.Event | None = None
    """Until it is set, nothing comes after ``gate_after`` bytes of the body."""
    gate_after: int = 0
    reset: bool = False
    """A cut is a reset of the connection."""
    endless: bool = False
    """The body is repeated for as long as the client listens."""
    bytes_per_second: int = 0
    begins_after_s: float = 0.0
    trailing: bytes = b""
    """What comes after the end of the body."""


Fault = Callable[[Request, Reply], Reply]


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Registry:
    """The registry and what was asked of it. ``serving`` makes it answer."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.faults: dict[str, Iterator[Fault | None]] = {}
        self.sent_bytes = 0
        """Of bodies of blobs."""
        self.bytes_per_second = 0
        self.token = ""
        """If set, nothing is served without it."""
        self.password = ""
        """If set, the header that is asked for, whole: ``Basic …``."""
        self.port = 0
        self.host = "127.0.0.1"
        self.realm = ""
        self.connections = 0
        self.sending = 0
        """Requests for blobs that are being answered."""
        self._connected: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def add(self, name: str, *layers: bytes, sizes: Mapping[int, int] | None = None) -> str:
        """Serve a model ``ns/name`` with these layers; ``sizes`` lies about some. The name to pull."""
        described = []
        for number, content in enumerate(layers):
            digest = sha256(content)
            self.blobs[digest] = content
            size = (sizes or {}).get(number, len(content))
            described.append(_layer("application/vnd.ollama.image.model", digest, size))
        self.blobs[sha256(_CONFIG)] = _CONFIG
        config = _layer("application/vnd.docker.container.image.v1+json", sha256(_CONFIG), len(_CONFIG))
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": described}
        self.manifests[f"{name}/latest"] = json.dumps(manifest).encode()
        return f"{self.address}/{name}"

    def fail(self, kind: str, *faults: Fault | None) -> None:
        """The coming requests of a kind get these faults, one each; ``None`` is none."""
        self.faults[kind] = iter(faults)

    def fail_always(self, kind: str, fault: Fault) -> None:
        self.faults[kind] = repeat(fault)

    def asked(self, kind: str) -> list[Request]:
        """The requests of a kind so far."""
        return [request for request in self.requests if request.kind == kind]

    @asynccontextmanager
    async def serving(self, context: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[Registry]:
        """Answer while the block runs."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", port, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for writer in self._connected.values():
                writer.transport.abort()
            if self._connected:
                await asyncio.wait(self._connected)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connected[task] = writer
        self.connections += 1
        try:
            while request := await _read_request(reader):
                self.requests.append(request)
                with self._counted(request):
                    if not await self._send(reader, writer, request, self._reply(request)):
                        break
        except (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            with contextlib.suppress(ConnectionError):
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        finally:
            writer.close()
            del self._connected[task]

    @contextlib.contextmanager
    def _counted(self, request: Request) -> Iterator[None]:
        self.sending += request.kind == "blob"
        try:
            yield
        finally:
            self.sending -= request.kind == "blob"

    def _reply(self, request: Request) -> Reply:
        honest = self._honest(request)
        fault = next(self.faults.get(request.kind, iter(())), None)
        return fault(request, honest) if fault is not None else honest

    def _honest(self, request: Request) -> Reply:
        if request.kind == "token":
            return Reply(body=json.dumps({"token": self.token}).encode())
        authorization = request.headers.get("authorization", "")
        if self.token and authorization != f"Bearer {self.token}":
            realm = self.realm or f"http://{self.address}/token"
            challenge = f'Bearer realm="{realm}",service="registry",scope="repository:ns/m:pull"'
            return Reply(401, {"WWW-Authenticate": challenge})
        if self.password and authorization != self.password:
            return Reply(401, {"WWW-Authenticate": 'Basic realm="registry"'})
        if match := re.fullmatch(r"/v2/(.+)/manifests/(.+)", request.path):
            manifest = self.manifests.get(f"{match[1]}/{match[2]}")
            if manifest is not None:
                return Reply(headers={"Content-Type": MANIFEST_TYPE}, body=manifest)
        elif match := re.search(r"(sha256:[0-9a-f]{64})$", request.path):
            content = self.blobs.get(match[1])
            if content is not None:
                return _ranged(request, content)
        return Reply(404, body=b'{"errors":[{"code":"NOT_FOUND"}]}')

    async def _send(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request, reply: Reply
    ) -> bool:
        """Write an answer; whether the connection may go on."""
        await asyncio.sleep(reply.begins_after_s)
        length = len(reply.body) if reply.length is None else reply.length
        headers = dict(reply.headers)
        if length >= 0:
            headers.setdefault("Content-Length", str(length))
        lines = [f"HTTP/1.1 {reply.status} Text", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        if request.method == "HEAD":
            await writer.drain()
            return True
        body = reply.body if reply.cut_after is None else reply.body[: reply.cut_after]
        body = body if reply.stall_after is None else body[: reply.stall_after]
        bytes_per_second = reply.bytes_per_second or self.bytes_per_second
        if reply.gate is not None:
            await self._send_body(writer, request, body[: reply.gate_after], bytes_per_second)
            await reply.gate.wait()
            body = body[reply.gate_after :]
        await self._send_body(writer, request, body, bytes_per_second)
        writer.write(reply.trailing)
        while reply.endless:
            await self._send_body(writer, request, body, 0)
        if reply.stall_after is not None:
            await reader.read()  # until the client gives up
            return False
        if reply.reset:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return reply.cut_after is None and not reply.reset and length == len(reply.body)

    async def _send_body(
        self, writer: asyncio.StreamWriter, request: Request, body: bytes, bytes_per_second: int
    ) -> None:
        size = min(bytes_per_second // 50 or _PIECE_BYTES, _PIECE_BYTES) or 1
        begun = asyncio.get_running_loop().time()
        view = memoryview(body)
        for start in range(0, len(body), size):
            piece = view[start : start + size]
            writer.write(piece)
            if request.kind == "blob":
                self.sent_bytes += len(piece)
            await writer.drain()
            if bytes_per_second:
                due = begun + (start + size) / bytes_per_second
                await asyncio.sleep(max(due - asyncio.get_running_loop().time(), 0))


def answers(status: int, body: bytes = b"", **headers: str) -> Fault:
    """Another answer, whatever was asked."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _request, _reply: Reply(status, named, body)


def only(content: bytes, *faults: Fault) -> Fault:
    """The first requests for one blob get these faults, one each; other requests get none."""
    left = iter(faults)

    def fault(request: Request, reply: Reply) -> Reply:
        if not request.path.endswith(sha256(content)):
            return reply
        coming = next(left, None)
        return coming(request, reply) if coming is not None else reply

    return fault


def ignores_ranges(registry: Registry) -> Fault:
    """200 and everything, whatever part was asked for."""

    def fault(request: Request, reply: Reply) -> Reply:
        match = re.search(r"(sha256:[0-9a-f]{64})$", request.path)
        assert match is not None
        return replace(reply, status=200, headers={}, body=registry.blobs[match[1]])

    return fault


def cuts(size: int, *, reset: bool = False) -> Fault:
    """The connection ends after ``size`` bytes of the body."""
    return lambda _request, reply: replace(reply, cut_after=size, reset=reset)


def stalls(size: int) -> Fault:
    """Nothing comes after ``size`` bytes of the body."""
    return lambda _request, reply: replace(reply, stall_after=size)


def waits(gate: asyncio.Event, size: int) -> Fault:
    """Nothing comes after ``size`` bytes of the body until the gate is open."""
    return lambda _request, reply: replace(reply, gate=gate, gate_after=size)


def goes_on(_request: Request, reply: Reply) -> Reply:
    """Behind the end of the body comes something else."""
    return replace(reply, trailing=b"and more" * 1000)


def is_late(seconds: float) -> Fault:
    """The answer is right, but takes long to begin, as through a tunnel."""
    return lambda _request, reply: replace(reply, begins_after_s=seconds)


def allows(registry: Registry, connections: int) -> Fault:
    """More requests at one time are too many."""
    return lambda _request, reply: Reply(429) if registry.sending > connections else reply


def lies_about_length(by: int) -> Fault:
    """``Content-Length`` is wrong."""
    return lambda _request, reply: replace(reply, length=len(reply.body) + by)


def damages(position: int) -> Fault:
    """One byte of the body is another."""

    def fault(_request: Request, reply: Reply) -> Reply:
        body = bytearray(reply.body)
        if position < len(body):
            body[position] ^= 0xFF
        return replace(reply, body=bytes(body))

    return fault


def moves(by: int) -> Fault:
    """``Content-Range`` says another part than the one asked for."""

    def fault(_request: Request, reply: Reply) -> Reply:
        numbers = re.sub(
            r"bytes (\d+)-(\d+)",
            lambda match: f"bytes {int(match[1]) + by}-{int(match[2]) + by}",
            reply.headers.get("Content-Range", ""),
        )
        return replace(reply, headers={**reply.headers, "Content-Range": numbers})

    return fault


def shortens(size: int) -> Fault:
    """Less than was asked for, and it says so."""

    def fault(request: Request, reply: Reply) -> Reply:
        match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", reply.headers.get("Content-Range", ""))
        if match is None or len(reply.body) <= size:
            return reply
        described = f"bytes {match[1]}-{int(match[1]) + size - 1}/{match[3]}"
        return replace(reply, headers={"Content-Range": described}, body=reply.body[:size])

    return fault


def redirects(to: str | Callable[[Request], str], status: int = 307) -> Fault:
    """Somewhere else."""
    return lambda request, _reply: Reply(status, {"Location": to if isinstance(to, str) else to(request)})


def html(_request: Request, _reply: Reply) -> Reply:
    """The page of a hotel."""
    return Reply(headers={"Content-Type": "text/html"}, body=b"<html>Please sign in</html>")


def endless(_request: Request, _reply: Reply) -> Reply:
    """An answer without an end."""
    beginning = b'{"x":"' + b"x" * 65536
    return Reply(headers={"Content-Type": "application/json"}, body=beginning, length=1 << 30, endless=True)


def _layer(kind: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": kind, "digest": digest, "size": size}


def _ranged(request: Request, content: bytes) -> Reply:
    match = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
    if match is None:
        return Reply(body=content)
    first, last = int(match[1]), min(int(match[2]), len(content) - 1)
    if first >= len(content):
        return Reply(416, {"Content-Range": f"bytes */{len(content)}"})
    described = f"bytes {first}-{last}/{len(content)}"
    return Reply(206, {"Content-Range": described}, content[first : last + 1])


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        begin = await reader.readexactly(1)
        if not begin.isalpha():
            raise ConnectionError("this is not HTTP")
        head = begin + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    fields = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in fields}
    if length := int(headers.get("content-length", "0")):
        await reader.readexactly(length)
    return Request(method, target, headers)


def blobs(count: int, size: int, *, seed: int = 0) -> Iterable[bytes]:
    """Contents that differ."""
    for number in range(count):
        yield hashlib.shake_128(f"{seed}/{number}".encode()).digest(size)
