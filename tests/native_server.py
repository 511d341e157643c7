"""A small server that answers what it is told, for what talks to the native API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        """The body as JSON; None when there is none."""
        return json.loads(self.body) if self.body else None


@dataclass(slots=True)
class NativeServer:
    """Answers by method and path, 404 to the rest; remembers what was asked."""

    url: str
    requests: list[Request] = field(default_factory=list)
    _answers: dict[str, tuple[int, bytes]] = field(default_factory=lambda: {"HEAD /": (200, b"")})

    def says(self, question: str, *records: Any, status: int = 200) -> None:
        """Answer ``"POST /api/show"`` and the like with records, one a line."""
        lines = (record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)
        self._answers[question] = status, b"".join(line + b"\n" for line in lines)

    def asked(self, question: str) -> list[Any]:
        """The bodies of the requests of one kind."""
        return [each.json for each in self.requests if f"{each.method} {each.path}" == question]

    def answer(self, request: Request) -> tuple[int, bytes]:
        """Status and body for a request."""
        self.requests.append(request)
        not_found = 404, b'{"error":"nothing is known about that"}'
        return self._answers.get(f"{request.method} {request.path}", not_found)


@contextmanager
def native_server() -> Iterator[NativeServer]:
    """A running server on a loopback port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            body = b"".join(self._chunks()) or self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, reply = server.answer(Request(self.command, self.path, body, dict(self.headers)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply)

        do_HEAD = do_GET = do_POST = do_DELETE = handle_request

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def _chunks(self) -> Iterator[bytes]:
            if self.headers["Transfer-Encoding"] != "chunked":
                return
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

    with _Quiet(("127.0.0.1", 0), Handler) as http:
        server = NativeServer(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, name="native")
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


@contextmanager
def stalling_server(beginning: bytes, *, length: int | None = None) -> Iterator[tuple[str, threading.Event]]:
    """A server that begins an answer, of which ``length`` bytes are announced, and then waits for the client
    to leave. The event is set when somebody waits for the rest.
    """
    asked = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(beginning)
            asked.set()
            self.rfile.read(1)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, name="stalling")
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}", asked
        finally:
            http.shutdown()
            thread.join()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""
