"""Telling files apart by content."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.modelfile.content import Content, content_of


@pytest.mark.parametrize(
    ("head", "content"),
    [
        (b"", Content.TEXT),
        (b'{"a": "\xc3\xa9"}\r\n\t\x0c\x1b[0m', Content.TEXT),
        (b"PK\x03\x04rest", Content.ZIP),
        (b"PK\x05\x06", Content.BINARY),
        (b"\x0a\x0b", Content.BINARY),
        (b"a" * 512 + b"\x00", Content.TEXT),
        (b"a" * 511 + b"\x00", Content.BINARY),
    ],
)
def test_content_is_told_by_the_first_bytes(tmp_path: Path, head: bytes, content: Content) -> None:
    (tmp_path / "x").write_bytes(head)
    assert content_of(tmp_path / "x") is content
