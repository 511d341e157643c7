"""What a file is, by its first bytes.

Source: ``modelfile`` §4.1 and §5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from orchestrator.files.gguf import MAGICS

SNIFFED_BYTES = 512

_ZIP_MAGIC = b"PK\x03\x04"
_NOT_IN_TEXT = frozenset(range(0x20)) - frozenset(b"\t\n\r\x0c\x1b")


class Content(StrEnum):
    """Kind of content; the value is its media type, as error messages name it."""

    TEXT = "text/plain; charset=utf-8"
    ZIP = "application/zip"
    """PyTorch files are archives."""
    BINARY = "application/octet-stream"


class ModelFormat(StrEnum):
    """What model weights come in."""

    GGUF = "gguf"
    SAFETENSORS = "safetensors"


def content_of(path: Path) -> Content:
    """What the file at ``path`` holds."""
    with path.open("rb") as file:
        return sniff(file.read(SNIFFED_BYTES))


def sniff(head: bytes) -> Content:
    """What a file holds that starts with ``head``."""
    if head.startswith(_ZIP_MAGIC):
        return Content.ZIP
    return Content.BINARY if _NOT_IN_TEXT.intersection(head[:SNIFFED_BYTES]) else Content.TEXT


def is_gguf(path: Path) -> bool:
    """Whether the file starts with a magic of GGUF."""
    with path.open("rb") as file:
        return file.read(4) in MAGICS


def model_format(files: Mapping[str, Path]) -> ModelFormat | None:
    """The format of a set of files, by name and else by content; ``None`` if no file has weights we know."""
    if any(name.endswith(".safetensors") for name in files):
        return ModelFormat.SAFETENSORS
    if any(name.endswith(".gguf") or is_gguf(path) for name, path in files.items()):
        return ModelFormat.GGUF
    return None
