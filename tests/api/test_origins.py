"""Which origins may call, and what they are told."""

from __future__ import annotations

import pytest

from orchestrator.api.origins import InvalidOrigin, Origins, is_same_origin

DEFAULT = Origins.parse(())


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "https://localhost",
        "http://localhost:3000",
        "https://127.0.0.1:9",
        "http://0.0.0.0:80",
        "app://x",
        "file://",
        "tauri://localhost",
        "vscode-webview://1a2b",
        "vscode-file://vscode-app",
    ],
)
def test_pages_of_this_machine_and_its_apps_may_call(origin: str) -> None:
    assert DEFAULT.allow(origin)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "abc",
        "localhost",
        "HTTP://LOCALHOST",
        "http://[::1]",
        "chrome-extension://abc",
        "http://localhost:",
        "http://localhost:3000.evil.example",
        "http://localhost:1@evil.example",
        "http://localhost:80/",
    ],
)
def test_other_pages_may_not(origin: str) -> None:
    assert not DEFAULT.allow(origin)


@pytest.mark.parametrize(
    ("entry", "origin"),
    [
        ("https://App.Example", "https://app.example"),
        (" https://app.example ", "https://app.example"),
        ("chrome-extension://*", "chrome-extension://abc"),
        ("https://*.example", "https://a.b.example"),
        ("https://app.example:*", "https://app.example:8443"),
        ("*", "null"),
    ],
)
def test_entries_of_the_user_are_added(entry: str, origin: str) -> None:
    assert Origins.parse([entry]).allow(origin)
    assert Origins.parse([entry]).allow("http://localhost")


@pytest.mark.parametrize("entry", ["app.example", "ftp://x", "https://*.example:*"])
def test_an_entry_that_can_match_nothing_is_an_error(entry: str) -> None:
    with pytest.raises(InvalidOrigin, match="OLLAMA_ORIGINS"):
        Origins.parse([entry])


def test_blank_entries_are_passed_over() -> None:
    assert Origins.parse(["", " "]) == DEFAULT


def test_an_allowed_origin_is_echoed_and_caches_are_told() -> None:
    headers = DEFAULT.headers("http://localhost")
    assert headers == {"Access-Control-Allow-Origin": "http://localhost", "Vary": "Origin"}


def test_when_everyone_may_call_the_headers_say_so() -> None:
    everyone = Origins.parse(["*"])
    assert everyone.headers("http://a") == {"Access-Control-Allow-Origin": "*"}
    preflight = everyone.preflight_headers("http://a")
    assert preflight["Access-Control-Allow-Origin"] == "*"
    assert "Vary" not in preflight


@pytest.mark.parametrize(
    ("origin", "same"), [("http://h:1", True), ("https://h:1", True), ("http://h", False)]
)
def test_a_page_of_the_daemon_itself_is_known_by_its_host(origin: str, same: bool) -> None:
    assert is_same_origin(origin, "h:1") is same
