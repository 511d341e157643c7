"""Images in the form that engines decode."""

from __future__ import annotations

import io

from orchestrator.errors import OrchestratorError
from orchestrator.media.detect import Kind, check_usable

MAX_PIXELS = 178_956_970
"""Beyond this an image is taken for an attempt to exhaust memory; the limit Pillow warns at."""


class UndecodableImage(OrchestratorError):
    """An image that is not what its first bytes say."""


def needs_conversion(data: bytes) -> bool:
    """Whether engines cannot read ``data`` as it is. Raises ``UnsupportedMedia`` if nothing helps."""
    return check_usable(data) is Kind.WEBP


def as_png(data: bytes) -> bytes:
    """A WebP image as PNG, its first frame, pixel for pixel. Blocks. Raises ``UndecodableImage``."""
    from PIL import Image, UnidentifiedImageError  # slow to import, seldom needed

    try:
        with Image.open(io.BytesIO(data), formats=("WEBP",)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise UndecodableImage(f"decode WebP image: {width} x {height} pixels are too many")
            out = io.BytesIO()
            image.save(out, "PNG")
    except (OSError, UnidentifiedImageError, ValueError, SyntaxError, EOFError) as error:
        raise UndecodableImage("decode WebP image: it is damaged, or no WebP image") from error
    return out.getvalue()
