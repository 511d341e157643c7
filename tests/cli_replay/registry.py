"""A registry over plain HTTP: holds one tiny model, takes every push to ``lib``, refuses ``locked``."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

_CONFIG = b'{"model_format":"gguf","model_family":"llama","model_type":"1K","file_type":"F16"}'
_LAYER = bytes(range(256)) * 6
_REDIRECTED = "direct"


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _descriptor(media_type: str, content: bytes) -> dict[str, str | int]:
    return {"mediaType": media_type, "digest": _digest(content), "size": len(content)}


class _Registry(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    blobs: ClassVar[Mapping[str, bytes]] = {_digest(content): content for content in (_CONFIG, _LAYER)}
    manifest: ClassVar[bytes] = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": _descriptor("application/vnd.docker.container.image.v1+json", _CONFIG),
            "layers": [_descriptor("application/vnd.ollama.image.model", _LAYER)],
        }
    ).encode()

    def do_GET(self) -> None:
        parts = self.path.split("/")
        blob = self.blobs.get(parts[-1]) if "blobs" in parts else None
        if self.path == "/v2/lib/tiny/manifests/latest":
            self._reply(200, self.manifest)
        elif blob is None:
            self._reply(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
        elif parts[1] != _REDIRECTED:  # as real registries do: the bytes lie on another host
            port = self.connection.getsockname()[1]
            self._reply(307, Location=f"http://localhost:{port}/{_REDIRECTED}/blobs/{parts[-1]}")
        else:
            self._reply_range(blob)

    def do_HEAD(self) -> None:
        blob = self.blobs.get(self.path.split("/")[-1])
        if blob is not None and self.path.startswith("/v2/lib/tiny/"):
            self._reply(200, blob)
        else:
            self._reply(200 if self.path.startswith("/v2/lib/") else 404)

    def do_POST(self) -> None:
        self._reply(403, b'{"errors":[{"code":"DENIED","message":"access denied"}]}')

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._reply(201)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _reply_range(self, blob: bytes) -> None:
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if found is None:
            self._reply(200, blob)
            return
        first, last = int(found[1]), min(int(found[2] or len(blob)), len(blob) - 1)
        self._reply(206, blob[first : last + 1], Content_Range=f"bytes {first}-{last}/{len(blob)}")

    def _reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


@contextmanager
def loopback_registry() -> Iterator[str]:
    """The address of a running registry."""
    with _Server(("127.0.0.1", 0), _Registry) as server:
        thread = threading.Thread(target=server.serve_forever, name="registry")
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
