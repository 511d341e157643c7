"""Pictures and sound named by path in a prompt.

Source: ``cli`` §6.6.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.quoting import quoted
from orchestrator.errors import OrchestratorError, reason_of

_REFERENCE = re.compile(
    r"(?:[a-zA-Z]:)?(?:\./|/|\\)[\S\\ ]+?\.(?i:jpg|jpeg|png|webp|wav)\b",
    re.ASCII,  # names of screenshots hold other blanks
)
_ESCAPED = re.compile(r"\\([ ()\[\]{}$&;'\\*?~])")
_LARGEST_BYTES = 100 * 1024 * 1024
_SNIFFED_BYTES = 512
_OTHERS = {
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"\0\0\1\0": "image/x-icon",
    b"%PDF-": "application/pdf",
    b"PK\3\4": "application/zip",
    b"\x1f\x8b\x08": "application/x-gzip",
    b"OggS\0": "application/ogg",
    b"ID3": "audio/mpeg",
    b"\x1aE\xdf\xa3": "video/webm",
}
_NOT_IN_TEXT = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")


class UnusableFile(OrchestratorError):
    """A file that is there but cannot be attached."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file found in a prompt. ``data`` is base64, as requests carry it."""

    typed: str
    path: str
    kind: str
    data: str


def references(prompt: str) -> list[str]:
    """The paths in a prompt, as they are typed."""
    return _REFERENCE.findall(prompt)


def take_files(prompt: str) -> tuple[str, list[str]]:
    """The prompt without the files it names, and their contents in base64; says what was taken.

    Blanks around the prompt go, too. A path that leads nowhere stays in it as text. Raises ``UnusableFile``,
    having said so.
    """
    try:
        found = list(_attachments(prompt))
    except UnusableFile as error:
        print(f"Couldn't process file: {quoted(str(error))}", file=sys.stderr)
        raise
    for attachment in found:
        print(f"Added {attachment.kind} '{attachment.path}'", file=sys.stderr)
        for form in (f"'{attachment.path}'", f"'{attachment.typed}'", attachment.typed):
            prompt = prompt.replace(form, "")
    return prompt.strip(), [attachment.data for attachment in found]


def _attachments(prompt: str) -> Iterator[Attachment]:
    for typed in references(prompt):
        path = _ESCAPED.sub(r"\1", typed)
        try:
            content = _content(Path(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UnusableFile(f"open {path}: {reason_of(error)}") from error
        yield Attachment(typed, path, _kind(content), base64.b64encode(content).decode())


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_LARGEST_BYTES + 1)
    if len(content) > _LARGEST_BYTES:
        raise UnusableFile("file size exceeds maximum limit (100MB)")
    return content


def _kind(content: bytes) -> str:
    """``image`` or ``audio``, by the first bytes."""
    if content.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")):
        return "image"
    match content[:4], content[8:12]:
        case b"RIFF", b"WEBP":
            return "image"
        case b"RIFF", b"WAVE":
            return "audio"
    raise UnusableFile(f"invalid file type: {_media_type(content)}")


def _media_type(content: bytes) -> str:
    """What a file that is none of ours is, by its first bytes, for the error."""
    for magic, media_type in _OTHERS.items():
        if content.startswith(magic):
            return media_type
    is_text = not _NOT_IN_TEXT.search(content[:_SNIFFED_BYTES])
    return "text/plain; charset=utf-8" if is_text else "application/octet-stream"
