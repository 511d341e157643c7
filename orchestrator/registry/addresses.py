"""Addresses in answers: where redirects, uploads and challenges point to."""

from __future__ import annotations

import aiohttp
from yarl import URL

from orchestrator.registry.errors import BadAnswer


def authority(url: URL) -> str:
    """Host, and the port if one is written. Raises ``ValueError`` for a port that is none."""
    host = url.host or ""
    if ":" in host:
        host = f"[{host}]"
    port = url.explicit_port
    return f"{host}:{port}" if port is not None else host


def pointed_to(response: aiohttp.ClientResponse, location: str, *, what: str) -> URL:
    """The whole address that ``location``, a header of ``response``, stands for.

    Raises ``BadAnswer``, which names ``what`` goes there, if it is none.
    """
    try:
        url = response.url.join(URL(location, encoded=True))
    except ValueError as error:
        raise BadAnswer(f"{what} to a malformed address {location[:200]!r}") from error
    if not location or url.scheme not in ("http", "https") or not url.host:
        raise BadAnswer(f"{what} to {location[:200]!r}, which is no address")
    return url
