"""One recorded request on a connection of its own, and its answer in the form of the records."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIMEOUT_S = 120
PIECE_BYTES = 1 << 20

HEADERS = frozenset(
    {
        "content-type",
        "allow",
        "location",
        "vary",
        "cache-control",
        "www-authenticate",
        "access-control-allow-origin",
        "access-control-allow-methods",
        "access-control-allow-headers",
        "access-control-max-age",
        "access-control-allow-credentials",
        "access-control-expose-headers",
    }
)
"""Those that clients look at."""

_BLOBS = re.compile(r'(?:[A-Za-z]:)?/[^\s"\\]*?/blobs/(?=sha256[-:])')
_MANIFESTS = re.compile(r'/[^\s"\\]*?/manifests/')


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. ``body`` is a list of records for the kinds ``ndjson`` and ``sse``."""

    status: int
    kind: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    transfer: str = "none"
    at: float = 0.0
    """Seconds since the epoch."""

    @property
    def last(self) -> Any:
        """The body, or the last record of a stream."""
        return self.body[-1] if self.kind in ("ndjson", "sse") and self.body else self.body


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests go."""

    host: str
    port: int

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def send(self, request: Mapping[str, Any], *, file: Callable[[str], Path] | None = None) -> Answer:
        """Send one request, its path exactly as written. A connection that breaks off is an answer too."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        try:
            self._write(connection, request, _body(request, file))
            response = connection.getresponse()
            content = response.read()
            return self._answer(response, content)
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, "failure", type(error).__name__)
        finally:
            connection.close()

    def _write(self, connection: http.client.HTTPConnection, request: Mapping[str, Any], body: bytes) -> None:
        headers = [
            (name, value.replace("$HOST", self.address)) for name, value in request.get("headers", {}).items()
        ]
        names = {name.lower() for name, _ in headers}
        method = request["method"]
        connection.putrequest(method, request["path"], skip_host="host" in names, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if "json" in request and "content-type" not in names:
            connection.putheader("Content-Type", "application/json")
        if body or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        try:
            for start in range(0, len(body), PIECE_BYTES):
                connection.send(body[start : start + PIECE_BYTES])
        except (BrokenPipeError, ConnectionResetError):
            pass  # it answered before it had read everything

    def _answer(self, response: http.client.HTTPResponse, content: bytes) -> Answer:
        pairs = [(name.lower(), value) for name, value in response.getheaders()]
        headers = dict(pairs)
        vary = [value for name, value in pairs if name == "vary"]
        if vary:
            headers["vary"] = ", ".join(vary)
        kind, body = _read_body(content, headers.get("content-type", ""), self.address)
        transfer = "none"
        if headers.get("transfer-encoding") == "chunked":
            transfer = "chunked"
        elif "content-length" in headers:
            transfer = "length"
        shown = {
            name: value.replace(self.address, "$HOST") for name, value in headers.items() if name in HEADERS
        }
        return Answer(response.status, kind, body, shown, transfer, time.time())


def _body(request: Mapping[str, Any], file: Callable[[str], Path] | None) -> bytes:
    if "json" in request:
        return json.dumps(request["json"], ensure_ascii=False).encode()
    if "body" in request:
        return str(request["body"]).encode()
    if "body_base64" in request:
        return base64.b64decode(request["body_base64"])
    if "body_gzip_base64" in request:
        return gzip.decompress(base64.b64decode(request["body_gzip_base64"]))
    if "body_fixture" in request and file is not None:
        return file(request["body_fixture"]).read_bytes()
    return b""


def _read_body(content: bytes, content_type: str, address: str) -> tuple[str, Any]:
    """The kind of a body, and its value or records."""
    if not content:
        return "empty", None
    try:
        text = _scrubbed(content.decode(), address)
    except UnicodeDecodeError:
        return "binary", hashlib.sha256(content).hexdigest()
    try:
        if content_type.startswith("text/event-stream") and re.match(r"(event|data):", text):
            return "sse", list(_events(text))
        if content_type.startswith("application/x-ndjson"):
            return "ndjson", [json.loads(line) for line in text.split("\n") if line.strip()]
        if text[:1] in '{["0123456789ntf-':
            return "json", json.loads(text)
    except ValueError:
        pass
    return "text", text


def _scrubbed(text: str, address: str) -> str:
    """``text`` without the server's own paths and address."""
    if "/v2/" not in text:
        text = _MANIFESTS.sub("$MODELS/manifests/", _BLOBS.sub("$MODELS/blobs/", text))
    return text.replace(address, "$HOST")


def _events(text: str) -> Iterator[dict[str, Any]]:
    for frame in text.split("\n\n"):
        event, data = "", []
        for line in frame.split("\n"):
            if line.startswith("event:"):
                event = line[6:].strip()
            elif line.startswith("data:"):
                data.append(line[5:].strip())
        if not data and not event:
            continue
        joined = "\n".join(data)
        try:
            value = json.loads(joined)
        except ValueError:
            value = joined
        yield {"event": event, "data": value} if event else {"data": value}
