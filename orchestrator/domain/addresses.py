"""The address of a server, as ``OLLAMA_HOST`` gives it.

::

    address = [ scheme "://" ] [ host ] [ ":" port ] [ "/" path ]

The host is a name, an IPv4 address, or an IPv6 address with or without brackets. Source: ``cli`` §11.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import IPv6Address, ip_address
from urllib.parse import quote

from orchestrator.errors import BadRequest

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 11434

_PORTS = {"http": 80, "https": 443}
_HOSTED = "ollama.com"
_HOST_AND_PORT = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*):(?P<port>[^:\[\]]*)")
_PORT = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


class InvalidPort(BadRequest):
    """A port that is no number up to 65535; ``fallback`` is the address with the usual port."""

    def __init__(self, port: str, fallback: ServerAddress) -> None:
        super().__init__(f"invalid port {port!r}, must be a number from 0 to 65535")
        self.fallback = fallback


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the daemon listens and clients connect. An empty ``host`` is every interface."""

    scheme: str = "http"
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> ServerAddress:
        """Read an address; what is missing has its default. Raises ``InvalidPort``."""
        text = text.strip()
        scheme, found, rest = text.partition("://")
        if not found:
            if text == _HOSTED:
                return cls("https", _HOSTED, _PORTS["https"])
            scheme, rest = "http", text
        default_port = _PORTS.get(scheme, DEFAULT_PORT) if found else DEFAULT_PORT
        authority, _, path = rest.partition("/")
        match = _HOST_AND_PORT.fullmatch(authority)
        if match is None:
            return cls(scheme, _lone_host(authority), default_port, path)
        address = cls(scheme, match["host"].strip("[]"), default_port, path)
        if not _PORT.fullmatch(match["port"]) or not 0 <= int(match["port"]) <= 65535:
            raise InvalidPort(match["port"], address)
        return replace(address, port=int(match["port"]))

    @property
    def url(self) -> str:
        """``http://127.0.0.1:11434``, the path behind it."""
        path = "/" + quote(self.path, safe="/:@!$&'()*+,;=~") if self.path else ""
        return f"{self.scheme}://{self.authority}{path}"

    @property
    def authority(self) -> str:
        """``127.0.0.1:11434``; an IPv6 address stands in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def connectable(self) -> ServerAddress:
        """The address for a client: the loopback interface where the daemon listens on every interface."""
        unspecified = {"0.0.0.0": "127.0.0.1", "::": "::1"}
        return replace(self, host=unspecified.get(self.host, self.host))


def _lone_host(text: str) -> str:
    """The host of an address without a port; IP addresses in their usual form."""
    try:
        address = ip_address(text.strip("[]"))
    except ValueError:
        return text or DEFAULT_HOST
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(address)
