"""What a file holds, by its first bytes.

Source: ``modelfile`` §4.1.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

SNIFFED_BYTES = 512

_ZIP_MAGIC = b"PK\x03\x04"
_NOT_IN_TEXT = frozenset(range(0x20)) - frozenset(b"\t\n\r\x0c\x1b")


class Content(StrEnum):
    """Kind of content; the value is its media type, as error messages name it."""

    TEXT = "text/plain; charset=utf-8"
    ZIP = "application/zip"
    """PyTorch files are archives."""
    BINARY = "application/octet-stream"


def content_of(path: Path) -> Content:
    """What the file at ``path`` holds."""
    with path.open("rb") as file:
        head = file.read(SNIFFED_BYTES)
    if head.startswith(_ZIP_MAGIC):
        return Content.ZIP
    return Content.BINARY if _NOT_IN_TEXT.intersection(head) else Content.TEXT
