"""Addresses of remote servers as stubs keep them."""

from __future__ import annotations

import pytest

from orchestrator.create.errors import CreateRefused
from orchestrator.create.remote import remote_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.test", "http://example.test:11434"),
        ("example.test:5", "http://example.test:5"),
        ("http://example.test/", "http://example.test:11434"),
        ("https://example.test", "https://example.test:443"),
        ("https://example.test:99/a/../b", "https://example.test:99/b"),
        ("/a/../b", "http://localhost:11434/b"),
        ("ollama.com", "https://ollama.com:443"),
        ("http://ollama.com", "https://ollama.com:443"),
        ("https://ollama.com", "https://ollama.com:443"),
        ("[::1]", "http://[::1]:11434"),
        ("http://[::1]:5", "http://[::1]:5"),
        ("ftp://h/x?q=1#f", "ftp://h:11434/x?q=1#f"),
        ("http://user:word@h", "http://user:word@h:11434"),
        ("http://:7", "http://localhost:7"),
        ("Example.TEST", "http://Example.TEST:11434"),
        ("HTTPS://H", "https://H:443"),
        ("h:", "http://h:11434"),
        ("//a//b/./c/", "http://localhost:11434/a/b/c"),
        ("http://h//a", "http://h:11434/a"),
        ("h/a b/%C3%A4?", "http://h:11434/a%20b/%C3%A4"),
        ("/what?", "http://localhost:11434/what%3F"),
        ("/", "http://localhost:11434/"),
        ("h/..", "http://h:11434"),
    ],
)
def test_scheme_port_and_path_are_settled(text: str, url: str) -> None:
    assert remote_url(text) == url


@pytest.mark.parametrize("text", ["http://[::1", "http://h:port", "http://h:99999", "http://a b", "://h"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(CreateRefused, match="^bad remote$"):
        remote_url(text)
