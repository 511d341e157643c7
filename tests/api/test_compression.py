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


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"model":"m"}', id="not compressed"),
        pytest.param(zstd.compress(b"x" * 100)[:-3], id="cut off"),
        pytest.param(zstd.compress(bytes(MAX_BYTES + 1)), id="a bomb"),
        pytest.param(b"", id="empty"),
        pytest.param(_with_window(27), id="a window too large"),
    ],
)
def test_a_body_that_is_not_what_it_says_is_refused(body: bytes) -> None:
    with pytest.raises(Undecompressable):
        unpacked(body)
