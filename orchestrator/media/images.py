"""Images in the form that engines decode, the right way up.

Source: ``multimodal`` §5.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from orchestrator.errors import BadRequest, OrchestratorError
from orchestrator.media.detect import Kind, check_usable
from orchestrator.media.pixels import MAX_PIXELS

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = {Kind.WEBP: "WEBP", Kind.AVIF: "AVIF", Kind.TIFF: "TIFF", Kind.ICON: "ICO"}
"""Kinds that engines do not decode, by the names Pillow has for them."""
_SAVED_AS_THEY_ARE = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "I;16"})
"""What pixels of a PNG can be, in Pillow's words."""
_JPEG = b"\xff\xd8"
_EXIF = b"Exif\0\0"
_EXIF_WITHIN = 1 << 17
"""Bytes from the start of a photo within which its camera's notes begin."""
_ORIENTATION, _UPRIGHT = 0x0112, 1
_JPEG_QUALITY = 95


class UndecodableImage(OrchestratorError):
    """An image that is not what its first bytes say."""


class DamagedImage(BadRequest, UndecodableImage):
    """The same, of a kind that Ollama does not know."""


def needs_conversion(data: bytes) -> bool:
    """Whether engines may not read ``data`` as it is. Raises ``UnsupportedMedia`` if nothing helps."""
    return check_usable(data) in _FORMATS or (data.startswith(_JPEG) and _EXIF in data[:_EXIF_WITHIN])


def converted(data: bytes) -> bytes:
    """An image that engines read: the first picture of ``data`` as PNG, or a photo turned upright.

    A photo that stands upright is given back as it is, so that it has the same identity for an engine's
    cache. Blocks. Raises ``UndecodableImage``.
    """
    kind = check_usable(data)
    return as_png(data, kind) if kind in _FORMATS else _upright(data)


def as_png(data: bytes, kind: Kind = Kind.WEBP) -> bytes:
    """The first picture of ``data`` as PNG, pixel for pixel, upright. Blocks. Raises ``UndecodableImage``."""
    from PIL import Image, ImageOps, UnidentifiedImageError  # slow to import, seldom needed

    _hear_no_warnings()
    failure = UndecodableImage if kind is Kind.WEBP else DamagedImage
    try:
        with Image.open(io.BytesIO(data), formats=(_FORMATS[kind],)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise failure(f"decode {kind.value}: {width} x {height} pixels are too many")
            out = io.BytesIO()
            _savable(ImageOps.exif_transpose(image)).save(out, "PNG")
    except (OSError, UnidentifiedImageError, ValueError, SyntaxError, EOFError) as error:
        what = kind.value.removesuffix(" image")
        raise failure(f"decode {kind.value}: it is damaged, or no {what} image") from error
    return out.getvalue()


def _savable(image: Image.Image) -> Image.Image:
    """``image`` with pixels that a PNG can have."""
    if image.mode in _SAVED_AS_THEY_ARE:
        return image
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _upright(photo: bytes) -> bytes:
    """A photo as it was seen: cameras do not turn it, but note how they were held.

    One that cannot be read is for the engine to judge.
    """
    from PIL import Image, ImageOps

    _hear_no_warnings()
    try:
        with Image.open(io.BytesIO(photo), formats=("JPEG",)) as image:
            width, height = image.size
            if image.getexif().get(_ORIENTATION, _UPRIGHT) == _UPRIGHT or width * height > MAX_PIXELS:
                return photo
            out = io.BytesIO()
            turned = ImageOps.exif_transpose(image)
            turned.convert("L" if turned.mode == "L" else "RGB").save(out, "JPEG", quality=_JPEG_QUALITY)
    except (OSError, ValueError, SyntaxError, EOFError):
        return photo
    return out.getvalue()


def _hear_no_warnings() -> None:
    """Pillow warns of odd notes beside pictures, which concern nobody here."""
    warnings.filterwarnings("ignore", module=r"PIL\.")
