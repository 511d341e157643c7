"""The address of a remote server in the form stubs keep it."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from orchestrator.create.errors import CreateRefused

CLOUD_URL = "https://ollama.com:443"
_CLOUD_ALIASES = frozenset({"ollama.com", "http://ollama.com"})
_DEFAULT_HOST = "localhost"
_DEFAULT_PORT = 11434
_HTTPS_PORT = 443
_PORT = re.compile(r":[0-9]*$")
_PATH_LETTERS = "/:@&=+$,;~"


def remote_url(text: str) -> str:
    """``text`` with scheme and port filled in and its path cleaned. Raises ``CreateRefused``."""
    if text in _CLOUD_ALIASES:
        return CLOUD_URL
    if text.startswith("/"):
        return f"http://{_DEFAULT_HOST}:{_DEFAULT_PORT}{_clean(text)}"
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError as error:
        raise CreateRefused("bad remote") from error
    if not parts.scheme or " " in parts.netloc:
        raise CreateRefused("bad remote")
    if port is None:
        port = _HTTPS_PORT if parts.scheme == "https" else _DEFAULT_PORT
    credentials, at, place = parts.netloc.rpartition("@")
    host = _PORT.sub("", place) or _DEFAULT_HOST
    path = "" if parts.path in ("", "/") else _clean(unquote(parts.path)).removesuffix("/")
    return urlunsplit((parts.scheme, f"{credentials}{at}{host}:{port}", path, parts.query, parts.fragment))


def _clean(path: str) -> str:
    """An absolute path without dots and double slashes, in the letters of URLs."""
    return quote(posixpath.normpath(f"/{path.lstrip('/')}"), safe=_PATH_LETTERS)
