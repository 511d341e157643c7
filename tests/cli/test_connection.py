"""The way to the server: what the environment says about it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Orch
from tests.native_server import NativeServer

FAR = "far.invalid:11434"
PROXIES = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, *map(str.lower, PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_a_proxy_stands_before_other_machines(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.says(f"HEAD http://{FAR}/")
    server.says(f"GET http://{FAR}/api/tags", {"models": []})
    monkeypatch.setenv("OLLAMA_HOST", FAR)
    monkeypatch.setenv("http_proxy", server.url)
    assert orch("list").status == 0
    monkeypatch.setenv("NO_PROXY", ".invalid")
    assert orch("list").status == 1
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_no_proxy_stands_before_the_own_machine(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://192.0.2.1:9")
    server.says("GET /api/tags", {"models": []})
    assert orch("list").status == 0


@pytest.mark.parametrize("proxy", ["socks5://h:9", "foo://h", "http://[::1", ":::"])
def test_a_proxy_that_cannot_be_used_is_told(orch: Orch, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", FAR)
    monkeypatch.setenv("HTTP_PROXY", proxy)
    printed = orch("list")
    assert (printed.status, printed.out) == (1, "")
    assert printed.err.startswith("Error: the proxy that is set cannot be used: ")


def test_authorities_that_cannot_be_read_are_told_where_they_matter(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    server.says("GET /api/tags", {"models": []})
    assert orch("list").status == 0
    monkeypatch.setenv("OLLAMA_HOST", f"https://{FAR}")
    assert orch("list").err == "Error: SSL_CERT_FILE=/nowhere/ca.pem: no such file or directory\n"


@pytest.mark.parametrize("host", ["http://..", "http://" + "a" * 300, "owl://h", "http://a b"])
def test_a_host_that_cannot_be_is_told(orch: Orch, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    printed = orch("list")
    assert (printed.status, printed.out) == (1, "")
    assert printed.err.startswith("Error: ")


def test_a_key_of_the_environment_is_shown(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.says("GET /api/tags", {"models": []})
    assert orch("list").status == 0
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    assert orch("list").status == 0
    assert [request.headers.get("Authorization") for request in server.requests] == [
        None,
        None,
        *["Bearer secret"] * 2,
    ]
