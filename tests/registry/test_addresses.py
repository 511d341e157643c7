"""Addresses as answers give them."""

from __future__ import annotations

import pytest
from yarl import URL

from orchestrator.registry.addresses import authority


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://registry.example/v2/", "registry.example"),
        ("https://registry.example:443/", "registry.example:443"),
        ("http://127.0.0.1:5000", "127.0.0.1:5000"),
        ("http://[::1]:5000", "[::1]:5000"),
        ("http://[::1]", "[::1]"),
    ],
)
def test_an_authority_is_the_host_as_users_write_it(url: str, written: str) -> None:
    assert authority(URL(url)) == written
