"""A model that only a scripted engine can run, and short ways to ask a daemon for things."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from tests.gguf_builder import Tensor, build_gguf
from tests.http_replay.transport import Answer, Server

MODEL = "toy"
PATIENCE_S = 20


def toy_weights(name: str = MODEL, facts: Mapping[str, Any] | None = None) -> bytes:
    """A model that only a scripted engine can run; another name makes another file."""
    metadata: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": name,
        "llama.block_count": 1,
        "llama.context_length": 4096,
        "tokenizer.ggml.model": "gpt2",
        **(facts or {}),
    }
    return build_gguf(metadata, [Tensor("token_embd.weight", (32, 4))])


def create(server: Server, name: str, weights: bytes | None = None) -> None:
    """Make a model of a file."""
    weights = weights or toy_weights(name)
    digest = upload(server, weights)
    model = {"model": name, "files": {"m.gguf": digest}, "template": "{{ .Prompt }}", "stream": False}
    answer = post(server, "/api/create", model)
    assert answer.status == 200, answer


def upload(server: Server, content: bytes) -> str:
    """Send a blob; its digest."""
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert send_body(server, f"/api/blobs/{digest}", content).status in (200, 201)
    return digest


def send_body(server: Server, path: str, content: bytes, **headers: str) -> Answer:
    """POST these bytes; ``headers`` may announce others."""
    body = base64.b64encode(content).decode()
    return server.send({"method": "POST", "path": path, "body_base64": body, "headers": headers})


def post(server: Server, path: str, body: Mapping[str, Any]) -> Answer:
    return server.send({"method": "POST", "path": path, "json": body})


def get(server: Server, path: str) -> Answer:
    return server.send({"method": "GET", "path": path})


def generate(server: Server, model: str = MODEL, **members: Any) -> Answer:
    return post(server, "/api/generate", {"model": model, "prompt": "x", "stream": False, **members})


def assert_serves(server: Server) -> None:
    """A request is answered as if nothing had happened."""
    answer = generate(server)
    assert answer.status == 200, answer
    assert answer.body["response"] == "One two three."


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process brings about and tells only when asked."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"


@contextmanager
def opened(server: Server, path: str, body: Mapping[str, Any]) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request, to be read at will."""
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE_S)) as connection:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        with closing(connection.getresponse()) as response:
            yield response


@contextmanager
def asked(server: Server, model: str) -> Iterator[None]:
    """A client that waits for an answer and goes at the end of the block."""
    body = json.dumps({"model": model, "prompt": "x"}).encode()
    with socket.create_connection((server.host, server.port), timeout=PATIENCE_S) as client:
        client.sendall(request_head(server, "/api/generate", len(body)) + body)
        yield


def request_head(server: Server, path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: {server.address}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def waiting(server: Server) -> int:
    """Requests that wait for a runner."""
    count: int = get(server, "/api/ps").body["queue"]["waiting"]
    return count


def loaded(server: Server) -> list[dict[str, Any]]:
    """What ``/api/ps`` tells of each runner."""
    models: list[dict[str, Any]] = get(server, "/api/ps").body["models"]
    return models
