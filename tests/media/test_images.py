"""Images that engines cannot read are converted."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from orchestrator.media.images import UndecodableImage, as_png, needs_conversion


def webp(*, mode: str = "RGBA") -> bytes:
    image = Image.new(mode, (3, 2))
    image.putpixel((1, 1), (10, 200, 30, 128)[: len(mode)])
    out = io.BytesIO()
    image.save(out, "WEBP", lossless=True, exact=True)
    return out.getvalue()


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_webp_image_keeps_its_pixels_as_png(mode: str) -> None:
    data = webp(mode=mode)
    assert needs_conversion(data)
    with Image.open(io.BytesIO(as_png(data))) as png, Image.open(io.BytesIO(data)) as original:
        assert png.format == "PNG"
        assert png.tobytes() == original.tobytes()


@pytest.mark.parametrize("cut", [0, 4, 13, 20])
def test_a_broken_webp_image_is_told_as_such(cut: int) -> None:
    with pytest.raises(UndecodableImage, match="^decode WebP image: it is damaged, or no WebP image$"):
        as_png((b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 40)[: 16 + cut])


def test_other_images_stay_as_they_are() -> None:
    assert not needs_conversion(b"\x89PNG\r\n\x1a\n")
