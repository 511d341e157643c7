"""What an attachment is, told from its first bytes, never from a name.

Source: ``api-native`` §8.2; the signatures are those of the formats' own specifications.
"""

from __future__ import annotations

import re
from enum import Enum

from orchestrator.errors import BadRequest

_SVG = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>/]", re.DOTALL
)
_HEAD_BYTES = 1024


class Kind(Enum):
    """A kind of attachment, by the words an error uses for it."""

    WEBP = "WebP image"
    WAV = "WAV audio"
    MP3 = "MP3 audio"
    FLAC = "FLAC audio"
    VIDEO = "video"
    TIFF = "TIFF image"
    ICON = "ICO image"
    AVIF = "AVIF image"
    SVG = "SVG image"
    HEIF = "HEIC image"
    PDF = "PDF document"
    OTHER = "other"
    """An image in a form that engines decode, or something they will refuse by themselves."""


RECORDINGS = frozenset({Kind.WAV, Kind.MP3, Kind.FLAC})
"""What engines hear."""

_UNUSABLE = frozenset({Kind.SVG, Kind.HEIF, Kind.PDF})
_SIGNATURES = {
    b"fLaC": Kind.FLAC,
    b"II*\0": Kind.TIFF,
    b"MM\0*": Kind.TIFF,
    b"\0\0\1\0": Kind.ICON,
    b"\x1aE\xdf\xa3": Kind.VIDEO,
    b"FLV\1": Kind.VIDEO,
    b"%PDF": Kind.PDF,
}
"""The first four bytes, of kinds that these tell."""
_RIFF = {b"WEBP": Kind.WEBP, b"WAVE": Kind.WAV, b"AVI ": Kind.VIDEO}
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"})
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_SOUND_BRANDS = frozenset({b"M4A ", b"M4B ", b"M4P "})
_PACKET_BYTES = 188
"""An MPEG transport stream begins each of its packets with the same byte."""


_TAKEN = "send PNG, JPEG, WebP or GIF"
_DECODED = (
    b"\x89PNG\r\n", b"\xff\xd8", b"GIF8", b"BM", b"8BPS", b"#?RADIANCE", b"#?RGBE", b"P5", b"P6", b"OggS",
)  # fmt: skip
"""First bytes of images and recordings, beside those of ``Kind``, that engines decode."""
_SOUNDS = (b"OggS", b"\x1aE\xdf\xa3")
_RIFF_MARK, _BOXES_MARK = b"RIFF", b"ftyp"
"""Of the two containers; the first begins with it, the other has it behind four bytes."""
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


class UnsupportedMedia(BadRequest):
    """An attachment of a kind that no engine decodes."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"{kind.value}s are not supported; {_TAKEN}")
        self.kind = kind


class UnknownMedia(BadRequest):
    """An attachment that is neither image nor recording."""

    def __init__(self, data: bytes) -> None:
        super().__init__(f"{described(data)} is not an image; {_TAKEN}")


def kind_of(data: bytes) -> Kind:
    """What ``data`` is."""
    head = data[:_HEAD_BYTES]
    if head.startswith(_RIFF_MARK):
        return _RIFF.get(head[8:12], Kind.OTHER)
    if head[:3] == b"ID3" or (len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0):
        return Kind.MP3
    if _is_of_boxes(head):
        return _of_brand(head[8:12])
    if (kind := _SIGNATURES.get(head[:4])) is not None:
        return kind
    if head[:1] == b"G" and head[_PACKET_BYTES : _PACKET_BYTES + 1] == b"G":
        return Kind.VIDEO
    return Kind.SVG if _SVG.match(head) else Kind.OTHER


def _is_of_boxes(data: bytes) -> bool:
    return data[4:8] == _BOXES_MARK


def _of_brand(brand: bytes) -> Kind:
    """What a file in boxes is: the one container has pictures, films and sound."""
    if brand in _AVIF_BRANDS:
        return Kind.AVIF
    if brand in _HEIF_BRANDS:
        return Kind.HEIF
    return Kind.OTHER if brand in _SOUND_BRANDS else Kind.VIDEO


def check_usable(data: bytes) -> Kind:
    """The kind of ``data``. Raises ``UnsupportedMedia`` for one that would fail obscurely (case B149)."""
    kind = kind_of(data)
    if kind in _UNUSABLE:
        raise UnsupportedMedia(kind)
    return kind


def is_recording(data: bytes) -> bool:
    """Whether ``data`` may be sound: a format of recordings, or a container that can hold one."""
    return kind_of(data) in RECORDINGS or data.startswith(_SOUNDS) or _is_of_boxes(data)


def check_known(data: bytes) -> None:
    """Raises ``UnknownMedia`` for what no engine could make anything of (cases B149, B150)."""
    is_known = data.startswith((*_DECODED, _RIFF_MARK)) or _is_of_boxes(data)
    if kind_of(data) is Kind.OTHER and not is_known:
        raise UnknownMedia(data)


def described(data: bytes) -> str:
    """``data`` in words."""
    if not data:
        return "an empty file"
    import filetype  # many small modules, not needed for images

    if mime := filetype.guess_mime(data):
        return f"a file of type {mime}"
    head = data[:_HEAD_BYTES]
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if len(head) - error.start > 3 or len(head) == len(data):  # not just cut within a character
            return "data of an unknown type"
    return "data of an unknown type" if _BINARY.search(head) else "plain text"
