"""Clients that do not stay to the end."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from typing import Any

from tests.http_replay.transport import TIMEOUT_S, Server


def send_and_leave(
    server: Server, request: Mapping[str, Any], *, after_s: float | None = None, after_lines: int = 0
) -> None:
    """Send a request and close the connection: some time later, or after so many lines of the body."""
    body = request.get("body") or json.dumps(request["json"])
    head = (
        f"{request['method']} {request['path']} HTTP/1.1\r\nHost: {server.address}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n"
    )
    with socket.create_connection((server.host, server.port), timeout=TIMEOUT_S) as connection:
        connection.sendall((head + body).encode())
        if after_s is not None:
            time.sleep(after_s)  # recorded: the client is impatient, nothing tells it to go
            return
        with connection.makefile("rb") as stream:
            while stream.readline().strip():
                pass  # the head
            read = 0
            while read < after_lines and (line := stream.readline()):
                read += line.startswith((b"{", b"data:", b"event:"))
