"""Compressed bodies, well-formed and hostile."""

from __future__ import annotations

import pytest
from backports import zstd

from orchestrator.api.compression import MAX_BYTES, Undecompressable, unpacked


def _with_window(log: int) -> bytes:
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: log})
    return compressor.compress(b"x" * 100) + compressor.flush()


def test_a_compressed_body_is_what_was_compressed() -> None:
    assert unpacked(zstd.compress(b'{"model":"m"}')) == b'{"model":"m"}'
    assert unpacked(zstd.compress(bytes(MAX_BYTES))) == bytes(MAX_BYTES)


def test_a_compressed_body_may_come_in_frames_or_be_nothing() -> None:
    skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    frames = [zstd.compress(b'{"model"'), skipped, zstd.compress(b""), zstd.compress(b':"m"}')]
    assert unpacked(b"".join(frames)) == b'{"model":"m"}'
    assert unpacked(b"") == b""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"model":"m"}', id="not compressed"),
        pytest.param(zstd.compress(b"x" * 100)[:-3], id="cut off"),
        pytest.param(zstd.compress(bytes(MAX_BYTES + 1)), id="a bomb"),
        pytest.param(zstd.compress(b"{}") + b"{}", id="something behind it"),
        pytest.param(zstd.compress(b"") * 2000, id="a crowd of empty frames"),
        pytest.param(zstd.compress(bytes(MAX_BYTES)) + zstd.compress(b"x"), id="a bomb in two frames"),
        pytest.param(_with_window(27), id="a window too large"),
    ],
)
def test_a_body_that_is_not_what_it_says_is_refused(body: bytes) -> None:
    with pytest.raises(Undecompressable):
        unpacked(body)
