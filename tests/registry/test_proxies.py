"""Which proxy is used for which address."""

from __future__ import annotations

import pytest
from yarl import URL

from orchestrator.registry.proxies import Proxies

HTTP, HTTPS = "http://plain.proxy:1", "http://tls.proxy:2"


def proxy(url: str, none: str = "") -> str:
    found = Proxies(HTTP, HTTPS, none).of(URL(url))
    return str(found) if found else ""


def test_each_scheme_has_its_proxy() -> None:
    assert proxy("http://a.example/") == HTTP
    assert proxy("https://a.example/") == HTTPS
    assert Proxies().of(URL("https://a.example/")) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_this_machine_is_reached_directly(host: str) -> None:
    assert proxy(f"http://{host}:5000/v2/") == ""


@pytest.mark.parametrize(
    ("none", "url", "is_direct"),
    [
        ("*", "https://a.example/", True),
        ("a.example", "https://a.example/", True),
        ("a.example", "https://b.a.example/", True),
        ("a.example", "https://ba.example/", False),
        (".a.example", "https://b.a.example/", True),
        (".a.example", "https://a.example/", False),
        ("*.a.example", "https://b.a.example/", True),
        ("x, a.example ,y", "https://A.Example/", True),
        ("a.example:443", "https://a.example/", True),
        ("a.example:5000", "https://a.example/", False),
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://11.1.2.3/", False),
        ("10.0.0.0/8", "http://a.example/", False),
        ("10.1.2.3", "http://10.1.2.3:80/", True),
        ("fd00::/8", "http://[fd00::5]/", True),
        ("[fd00::5]:80", "http://[fd00::5]/", True),
        ("fd00::5", "http://[fd00::5]/", True),
        ("nonsense/99", "http://10.1.2.3/", False),
    ],
)
def test_exceptions_are_those_of_go(none: str, url: str, is_direct: bool) -> None:
    assert (proxy(url, none) == "") is is_direct


def test_a_proxy_without_scheme_is_an_http_one() -> None:
    assert str(Proxies(https="proxy:3128").of(URL("https://a.example"))) == "http://proxy:3128"
