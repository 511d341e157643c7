"""The sockets to registries: how long a connection may take, and how much the system buffers for it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import aiohttp

CONNECT_TIMEOUT_S = 30.0
NEAR_RECEIVE_BYTES = 128 << 10
"""Buffer of a connection within this machine or its network. A large one helps against latency, of which
there is none; and what is in it when the daemon is killed has to be fetched once more."""

_LARGEST_RECEIVE_BYTES = 1 << 20

AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]


def connector(receive_bytes: int = 0) -> aiohttp.TCPConnector:
    """Makes connections with buffers fit for their distance, or of ``receive_bytes`` if that is less."""
    return aiohttp.TCPConnector(limit=0, socket_factory=_factory(receive_bytes))


def _factory(receive_bytes: int) -> Callable[[AddressInfo], socket.socket]:
    def make(info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        if limit := _receive_limit(address, receive_bytes):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limit)
        return made

    return make


def _receive_limit(address: tuple[Any, ...], receive_bytes: int) -> int:
    """0 leaves the size to the system, which fits it to distance and speed."""
    near = NEAR_RECEIVE_BYTES if ip_address(str(address[0]).partition("%")[0]).is_private else 0
    wanted = min(receive_bytes, _LARGEST_RECEIVE_BYTES)
    return min(wanted, near) if wanted and near else wanted or near
