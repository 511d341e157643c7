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

_MOST_FRAMES = 1000  # even empty ones cost time
_WINDOW_LOG = 23  # 8 MiB: a frame must not make us set aside more


class Undecompressable(BadRequest):
    """A body that is not what its encoding says, or becomes too large."""


def unpacked(body: bytes) -> bytes:
    """The bytes in the zstd frames that ``body`` is made of, if any. Raises ``Undecompressable``."""
    content = bytearray()
    rest = memoryview(body)
    for _ in range(_MOST_FRAMES):
        if not rest:
            return bytes(content)
        try:
            size = zstd.get_frame_size(rest)
        except zstd.ZstdError as error:
            raise Undecompressable("invalid input: there is no zstd frame, or one is cut off") from error
        content += _unpacked_frame(rest[:size], MAX_BYTES - len(content))
        rest = rest[size:]
    raise Undecompressable("invalid input: there are too many frames")


def _unpacked_frame(frame: memoryview, most: int) -> bytes:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
    decompressor = zstd.ZstdDecompressor(options=options)
    try:
        content = decompressor.decompress(frame, max_length=most + 1)
    except zstd.ZstdError as error:
        raise Undecompressable(f"invalid input: {error}") from error
    if len(content) > most:
        raise Undecompressable("http: request body too large")
    return content
