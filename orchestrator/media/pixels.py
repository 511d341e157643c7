"""How large an image says it is, read from its first bytes without decoding it.

A few kilobytes can claim to be a picture of gigabytes, and an engine takes the memory before it looks on.
"""

from __future__ import annotations

from typing import Literal

from orchestrator.errors import BadRequest

MAX_PIXELS = 178_956_970
"""Beyond this an image is taken for an attempt to exhaust memory; the limit Pillow warns at."""

_PNG = b"\x89PNG\r\n\x1a\n"
_GIF = (b"GIF87a", b"GIF89a")
_BMP = b"BM"
_JPEG = b"\xff\xd8"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of JPEG behind which the size stands."""
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})

Size = tuple[int, int]
"""Width and height."""


class TooManyPixels(BadRequest):
    """An image that would fill the memory."""

    def __init__(self, size: Size) -> None:
        width, height = size
        super().__init__(
            f"an image of {width} x {height} pixels is too large; send at most {MAX_PIXELS} pixels"
        )


def check_pixels(data: bytes) -> None:
    """Raises ``TooManyPixels`` for an image that says it is larger than ``MAX_PIXELS``."""
    size = size_of(data)
    if size is not None and size[0] * size[1] > MAX_PIXELS:
        raise TooManyPixels(size)


def size_of(data: bytes) -> Size | None:
    """Width and height that a PNG, JPEG, GIF or BMP image claims; ``None`` for anything else."""
    if data.startswith(_PNG):
        return _pair(data, 16, 4, "big")
    if data.startswith(_GIF):
        return _pair(data, 6, 2, "little")
    if data.startswith(_BMP):
        size = _pair(data, 18, 4, "little")
        return size and (size[0], min(size[1], (1 << 32) - size[1]))  # negative heights are upside down
    return _size_of_jpeg(data) if data.startswith(_JPEG) else None


def _size_of_jpeg(data: bytes) -> Size | None:
    place = len(_JPEG)
    while place + 4 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker in _FRAMES:
            size = _pair(data, place + 5, 2, "big")
            return size and (size[1], size[0])
        if marker == 0xFF:
            place += 1
        elif marker in _WITHOUT_LENGTH:
            place += 2
        else:
            place += 2 + max(int.from_bytes(data[place + 2 : place + 4], "big"), 2)
    return None


def _pair(data: bytes, start: int, width: int, order: Literal["big", "little"]) -> Size | None:
    """Two numbers that stand one behind the other, if the data reaches so far."""
    middle, end = start + width, start + 2 * width
    if len(data) < end:
        return None
    return int.from_bytes(data[start:middle], order), int.from_bytes(data[middle:end], order)
