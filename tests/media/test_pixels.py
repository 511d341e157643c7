"""How large images say they are."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from orchestrator.media.pixels import MAX_PIXELS, TooManyPixels, check_pixels, size_of


def saved(form: str, **how: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (31, 17)).save(out, form, **how)
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        saved("PNG"),
        saved("GIF"),
        saved("BMP"),
        saved("JPEG"),
        saved("JPEG", progressive=True),
        saved("JPEG", comment=b"x" * 60_000, exif=Image.Exif()),
        b"\xff\xd8\xff" + saved("JPEG")[2:],
        b"BM" + bytes(16) + struct.pack("<ii", 31, -17),
    ],
)
def test_the_size_stands_in_the_first_bytes(data: bytes) -> None:
    assert size_of(data) == (31, 17)


@pytest.mark.parametrize(
    "data", [saved("WEBP"), b"", b"hello", b"RIFF", b"\x89PNG\r\n\x1a\n\0", b"\xff\xd8\xff\xe0"]
)
def test_what_does_not_say_has_no_size(data: bytes) -> None:
    assert size_of(data) is None
    check_pixels(data)


@given(st.sampled_from([b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM"]), st.binary(max_size=64))
def test_damaged_images_do_no_harm(start: bytes, rest: bytes) -> None:
    size = size_of(start + rest)
    assert size is None or min(size) >= 0


def png_of(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


def test_a_few_bytes_cannot_claim_all_memory() -> None:
    check_pixels(png_of(MAX_PIXELS, 1))
    with pytest.raises(TooManyPixels, match="^an image of 60000 x 60000 pixels is too large; send at most"):
        check_pixels(png_of(60_000, 60_000))
