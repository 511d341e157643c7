"""Guard against DNS rebinding: a daemon that listens on loopback answers only to names of this machine.

Source: ``api-native`` §2.4.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from enum import Enum
from functools import lru_cache

_PRIVATE = tuple(
    ipaddress.ip_network(network) for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal")
_WITH_PORT = re.compile(r"(?:\[(?P<literal>[^]]*)\]|(?P<name>[^:]*)):[^:]*")


class HostKind(Enum):
    """What the ``Host`` header says."""

    ADDRESS = "an address of this machine or of a private network"
    NAME = "a name of this machine"
    FOREIGN = "somebody else's name"


def host_kind(header: str) -> HostKind:
    """Whether ``header``, a ``Host`` header with or without port, names this machine."""
    kind = _spelled_kind(header)
    if isinstance(kind, HostKind):
        return kind
    return HostKind.ADDRESS if kind in _own_addresses() else HostKind.FOREIGN


@lru_cache(maxsize=256)
def _spelled_kind(header: str) -> HostKind | str:
    """What can be told from the text alone; an address for which that is not enough is given back."""
    match = _WITH_PORT.fullmatch(header)
    host = header if match is None else match["literal"] if match["name"] is None else match["name"]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return HostKind.NAME if _is_local_name(host.lower()) else HostKind.FOREIGN
    address = getattr(address, "ipv4_mapped", None) or address
    return HostKind.ADDRESS if _is_near(address) else str(address)


def _is_local_name(host: str) -> bool:
    return host in ("", "localhost", socket.gethostname().lower()) or host.endswith(_LOCAL_SUFFIXES)


def _is_near(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if address.is_loopback or address.is_unspecified:
        return True
    return any(address.version == network.version and address in network for network in _PRIVATE)


def _own_addresses() -> frozenset[str]:
    import psutil  # few requests get here

    return frozenset(
        entry.address.partition("%")[0]
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family in (socket.AF_INET, socket.AF_INET6)
    )
