"""Telling files apart by content."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.files.sniff import Content, ModelFormat, content_of, model_format, sniff


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
    assert sniff(head) is content
    (tmp_path / "x").write_bytes(head)
    assert content_of(tmp_path / "x") is content


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.safetensors": b"", "b.gguf": b""}, ModelFormat.SAFETENSORS),
        ({"config.json": b"{}", "sub/a.gguf": b""}, ModelFormat.GGUF),
        ({"weights": b"GGUF"}, ModelFormat.GGUF),
        ({"weights": b"FUGG"}, ModelFormat.GGUF),
        ({"weights": b"ggjt"}, None),
        ({"pytorch_model.bin": b"PK\x03\x04"}, None),
        ({}, None),
    ],
)
def test_the_format_follows_from_names_then_content(
    tmp_path: Path, files: dict[str, bytes], expected: ModelFormat | None
) -> None:
    paths = {}
    for number, (name, content) in enumerate(files.items()):
        paths[name] = tmp_path / str(number)
        paths[name].write_bytes(content)
    assert model_format(paths) is expected
