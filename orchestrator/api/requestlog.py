"""Files of what clients asked for, to be sent again (``OLLAMA_DEBUG_LOG_REQUESTS``).

Source: ``api-native`` §10.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

LOGGED_PATHS = frozenset(
    {
        "/api/generate",
        "/api/chat",
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/messages",
    }
)
_FILE_MODE = 0o600


class RequestLog:
    """Writes two files per call into a directory of its own: the body, and a script that sends it again."""

    def __init__(self, directory: Path, base_url: str) -> None:
        self.directory = directory
        self._base_url = base_url
        self._numbers = itertools.count(1)

    @classmethod
    def create(cls, base_url: str) -> RequestLog:
        """A log in a fresh temporary directory; it is left there when the daemon ends."""
        return cls(Path(tempfile.mkdtemp(prefix="ollama-request-logs-")), base_url)

    def write(self, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Keep one request. Raises ``OSError``."""
        route = re.sub(r"[^A-Za-z0-9]", "_", path.lstrip("/"))
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        stem = f"{stamp}-{next(self._numbers):06d}_{route}"
        body_file = self.directory / f"{stem}_body.json"
        _write_private(body_file, body)
        _write_private(self.directory / f"{stem}_request.sh", self._script(path, body_file, headers).encode())

    def _script(self, path: str, body_file: Path, headers: Mapping[str, str]) -> str:
        content_type = headers.get("Content-Type", "application/json")
        return (
            "#!/bin/sh\n"
            f"curl --request POST --header {shlex.quote(f'Content-Type: {content_type}')} \\\n"
            f"  --data-binary @{shlex.quote(str(body_file))} {shlex.quote(self._base_url + path)}\n"
        )


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
