"""Which ``Host`` headers name this machine."""

from __future__ import annotations

import socket

import pytest

from orchestrator.api.hosts import HostKind, host_kind


@pytest.mark.parametrize(
    "header",
    [
        "127.0.0.1",
        "127.1.2.3:11434",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.9:1",
        "192.168.1.1",
        "[::1]:11434",
        "::1",
        "[fd00::1]:80",
        "[::]:80",
        "[::ffff:127.0.0.1]:11434",
        "::ffff:192.168.1.1",
    ],
)
def test_near_addresses_are_accepted(header: str) -> None:
    assert host_kind(header) is HostKind.ADDRESS


@pytest.mark.parametrize(
    "header",
    [
        "",
        ":11434",
        "localhost",
        "LOCALHOST:11434",
        "foo.localhost",
        "box.local",
        "host.docker.internal:11434",
        socket.gethostname(),
    ],
)
def test_names_of_this_machine_are_accepted(header: str) -> None:
    assert host_kind(header) is HostKind.NAME


@pytest.mark.parametrize(
    "header",
    [
        "evil.example",
        "evil.example:11434",
        "8.8.8.8",
        "[::ffff:8.8.8.8]:80",
        "169.254.1.1",
        "172.32.0.1",
        "[2001:4860:4860::8888]:80",
        "[::1]",
        "localhost.",
        "localhost.evil.example",
        "notlocalhost",
    ],
)
def test_others_are_foreign(header: str) -> None:
    assert host_kind(header) is HostKind.FOREIGN
