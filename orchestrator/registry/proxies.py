"""Which proxy an address is reached through.

The rules are those of Go, which Ollama follows: ``localhost`` and loopback addresses are never reached
through a proxy, ``NO_PROXY`` holds hosts, domains, addresses and networks, with or without a port, and ``*``
is all.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from yarl import URL


@dataclass(frozen=True, slots=True)
class Proxies:
    """``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``."""

    http: str = ""
    https: str = ""
    none: str = ""

    def of(self, url: URL) -> URL | None:
        """The proxy for ``url``; ``None`` goes there directly. Raises ``ValueError`` if it is no address."""
        proxy = self.https if url.scheme == "https" else self.http
        if not proxy or _is_local(url.host or "") or self._is_excepted(url):
            return None
        return URL(proxy if "://" in proxy else f"http://{proxy}")

    def _is_excepted(self, url: URL) -> bool:
        return any(_covers(entry, url) for word in self.none.split(",") if (entry := word.strip().lower()))


def _covers(entry: str, url: URL) -> bool:
    """Whether one entry of ``NO_PROXY`` is about this address."""
    if entry == "*":
        return True
    host = (url.host or "").lower().rstrip(".")
    if "/" in entry:
        return _is_in_network(host, entry)
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and (":" not in name or name.startswith("[")):
        if int(port) != url.port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").rstrip(".")
    if entry.startswith("."):
        return host.endswith(entry)
    return host == entry or (not _is_address(host) and host.endswith(f".{entry}"))


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
