"""Compressed request bodies (``Content-Encoding: zstd``). Source: ``api-compat`` §1.2."""

from __future__ import annotations

import sys

from orchestrator.errors import BadRequest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_BYTES = 20 << 20
"""How long a body may become."""

_WINDOW_LOG = 23  # 8 MiB: a frame must not make us set aside more


class Undecompressable(BadRequest):
    """A body that is not what its encoding says, or becomes too large."""


def unpacked(body: bytes) -> bytes:
    """The bytes in a zstd frame. Raises ``Undecompressable``."""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
    decompressor = zstd.ZstdDecompressor(options=options)
    try:
        content = decompressor.decompress(body, max_length=MAX_BYTES + 1)
    except zstd.ZstdError as error:
        raise Undecompressable(f"invalid input: {error}") from error
    if len(content) > MAX_BYTES:
        raise Undecompressable("http: request body too large")
    if not decompressor.eof:
        raise Undecompressable("unexpected EOF")
    return content
