"""The address of a remote server in the form stubs keep it."""

from __future__ import annotations

import posixpath
from urllib.parse import urlsplit, urlunsplit

from orchestrator.create.errors import CreateRefused

CLOUD_URL = "https://ollama.com:443"
_CLOUD_ALIASES = frozenset({"ollama.com", "http://ollama.com"})
_DEFAULT_HOST = "localhost"
_DEFAULT_PORT = 11434
_HTTPS_PORT = 443


def remote_url(text: str) -> str:
    """``text`` with scheme and port filled in and its path cleaned. Raises ``CreateRefused``."""
    if text in _CLOUD_ALIASES:
        return CLOUD_URL
    if text.startswith("/"):
        return f"http://{_DEFAULT_HOST}:{_DEFAULT_PORT}{posixpath.normpath(text)}"
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError as error:
        raise CreateRefused("bad remote") from error
    if not parts.scheme or " " in parts.netloc:
        raise CreateRefused("bad remote")
    if port is None:
        port = _HTTPS_PORT if parts.scheme == "https" else _DEFAULT_PORT
    credentials, at, _ = parts.netloc.rpartition("@")
    host = parts.hostname or _DEFAULT_HOST
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    path = posixpath.normpath(parts.path) if parts.path else ""
    return urlunsplit(
        (
            parts.scheme,
            f"{credentials}{at}{address}",
            "" if path in ("/", ".") else path,
            parts.query,
            parts.fragment,
        )
    )
