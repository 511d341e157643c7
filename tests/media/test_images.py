"""Images that engines cannot read are converted; photos are turned upright."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from orchestrator.errors import BadRequest
from orchestrator.media.images import UndecodableImage, as_png, converted, needs_conversion

_ORIENTATION = 0x0112


def picture(mode: str = "RGBA") -> Image.Image:
    image = Image.new(mode, (16, 32))
    if mode in ("RGB", "RGBA"):
        image.putpixel((1, 1), (10, 200, 30, 128)[: len(mode)])
    return image


def saved(image: Image.Image, form: str, **how: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **how)
    return out.getvalue()


def webp(*, mode: str = "RGBA") -> bytes:
    return saved(picture(mode), "WEBP", lossless=True, exact=True)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_webp_image_keeps_its_pixels_as_png(mode: str) -> None:
    data = webp(mode=mode)
    assert needs_conversion(data)
    with Image.open(io.BytesIO(converted(data))) as png, Image.open(io.BytesIO(data)) as original:
        assert png.format == "PNG"
        assert png.tobytes() == original.tobytes()


@pytest.mark.parametrize(
    ("form", "mode"),
    [
        *(("TIFF", mode) for mode in ("1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F")),
        *(("AVIF", mode) for mode in ("RGB", "RGBA")),
        ("ICO", "RGBA"),
    ],
)
def test_kinds_that_engines_do_not_decode_become_png(form: str, mode: str) -> None:
    data = saved(picture(mode), form)
    assert needs_conversion(data)
    with Image.open(io.BytesIO(converted(data))) as png, Image.open(io.BytesIO(data)) as original:
        assert (png.format, png.size) == ("PNG", original.size)


def test_of_several_pictures_the_first_is_taken() -> None:
    red, blue = Image.new("RGB", (4, 4), "red"), Image.new("RGB", (4, 4), "blue")
    for form in ("WEBP", "TIFF"):
        data = saved(
            red, form, save_all=True, append_images=[blue], **({"lossless": True} if form == "WEBP" else {})
        )
        with Image.open(io.BytesIO(converted(data))) as png:
            assert png.convert("RGB").getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize("cut", [0, 4, 13, 20])
def test_a_broken_webp_image_is_told_as_such(cut: int) -> None:
    with pytest.raises(UndecodableImage, match="^decode WebP image: it is damaged, or no WebP image$"):
        as_png((b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 40)[: 16 + cut])


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\0\0\0\x18ftypavif\0\0\0\0", "AVIF"),
        (b"II*\0\x08\0\0\0", "TIFF"),
        (b"MM\0*\xff\xff\xff\xff", "TIFF"),
        (b"\0\0\1\0\1\0", "ICO"),
    ],
)
def test_a_broken_image_of_another_kind_is_the_clients_fault(data: bytes, name: str) -> None:
    with pytest.raises(BadRequest, match=f"^decode {name} image: it is damaged, or no {name} image$"):
        converted(data)


def photo(orientation: int | None) -> bytes:
    exif = Image.Exif()
    exif[0x010F] = "a camera"
    if orientation is not None:
        exif[_ORIENTATION] = orientation
    image = Image.new("RGB", (16, 32), "white")
    image.paste("black", (0, 0, 16, 16))
    return saved(image, "JPEG", exif=exif)


@pytest.mark.parametrize(
    ("orientation", "size", "dark"),
    [(3, (16, 32), (8, 24)), (6, (32, 16), (24, 8)), (8, (32, 16), (8, 8)), (5, (32, 16), (8, 8))],
)
def test_a_photo_is_turned_as_its_camera_was_held(
    orientation: int, size: tuple[int, int], dark: tuple[int, int]
) -> None:
    data = photo(orientation)
    assert needs_conversion(data)
    with Image.open(io.BytesIO(converted(data))) as upright:
        assert (upright.format, upright.size) == ("JPEG", size)
        assert upright.convert("1").getpixel(dark) == 0
        assert upright.getexif().get(_ORIENTATION, 1) == 1


@pytest.mark.parametrize("data", [photo(1), photo(None), photo(6)[:200], b"\xff\xd8\xff\xe1\0\x10Exif\0\0MM"])
def test_a_photo_that_is_upright_or_unreadable_stays_as_it_is(data: bytes) -> None:
    assert needs_conversion(data)
    assert converted(data) is data


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "BMP", "PPM"])
def test_other_images_stay_as_they_are(form: str) -> None:
    assert not needs_conversion(saved(picture("RGB"), form))
