"""What an attachment is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.media.detect import (
    Kind,
    UnknownMedia,
    UnsupportedMedia,
    check_known,
    check_usable,
    is_recording,
    kind_of,
)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"RIFF\x24\0\0\0WAVEfmt ", Kind.WAV),
        (b"RIFF\x24\0\0\0WEBPVP8 ", Kind.WEBP),
        (b"RIFF\x24\0\0\0AVI ", Kind.VIDEO),
        (b"RIFF\x24\0\0\0????", Kind.OTHER),
        (b"fLaC\0\0\0\x22", Kind.FLAC),
        (b"ID3\x03", Kind.MP3),
        (b"\xff\xfb\x90", Kind.MP3),
        (b"\xff\xd8\xff\xe0", Kind.OTHER),
        (b"\x89PNG\r\n\x1a\n", Kind.OTHER),
        (b"\0\0\0\x18ftypheic\0\0", Kind.HEIF),
        (b"\0\0\0\x18ftypavif\0\0", Kind.AVIF),
        (b"\0\0\0\x18ftypmp42\0\0", Kind.VIDEO),
        (b"\0\0\0\x14ftypqt  \0\0", Kind.VIDEO),
        (b"\0\0\0\x18ftypM4A \0\0", Kind.OTHER),
        (b"\x1aE\xdf\xa3\x01", Kind.VIDEO),
        (b"FLV\x01\x05", Kind.VIDEO),
        (b"G" + bytes(187) + b"G" + bytes(187), Kind.VIDEO),
        (b"Good morning", Kind.OTHER),
        (b"II*\0\x08\0\0\0", Kind.TIFF),
        (b"MM\0*\0\0\0\x08", Kind.TIFF),
        (b"\0\0\1\0\1\0", Kind.ICON),
        (b"%PDF-1.7", Kind.PDF),
        (b"<svg xmlns='x'/>", Kind.SVG),
        (b"<?xml version='1.0'?>\n<!-- a --><svg>", Kind.SVG),
        (b"just text about <svg>", Kind.OTHER),
        (b"", Kind.OTHER),
    ],
)
def test_kinds_are_told_by_content(data: bytes, kind: Kind) -> None:
    assert kind_of(data) is kind


@given(st.binary(max_size=64))
def test_any_bytes_have_a_kind(data: bytes) -> None:
    assert kind_of(data) in Kind


# case B149
@pytest.mark.parametrize(
    ("data", "name"), [(b"<svg>", "SVG"), (b"\0\0\0\x18ftypheic", "HEIC"), (b"%PDF-1.7", "PDF")]
)
def test_what_no_engine_decodes_is_refused_by_its_name(data: bytes, name: str) -> None:
    with pytest.raises(UnsupportedMedia, match=name):
        check_usable(data)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"notes for tomorrow, saved as photo.png", "plain text"),
        ("Größe: 5".encode(), "plain text"),
        (b"", "an empty file"),
        (bytes(range(200, 240)), "data of an unknown type"),
        (b"\x01\x02\x03" * 14, "data of an unknown type"),
        (b"PK\x03\x04" + bytes(40), "application/zip"),
    ],
)
def test_what_is_no_image_at_all_is_refused_by_what_it_is(data: bytes, name: str) -> None:  # case B150
    with pytest.raises(UnknownMedia, match=name):
        check_known(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"GIF89a",
        b"BM\x00\x00",
        b"RIFF\x24\0\0\0WAVEfmt ",
        b"ID3\x03",
        b"fLaC\0",
        b"\0\0\0\x18ftypmp42",
        b"\x1aE\xdf\xa3",
        b"II*\0",
        b"\0\0\1\0\1",
    ],
)
def test_images_and_recordings_are_known(data: bytes) -> None:
    check_known(data)


@pytest.mark.parametrize(
    ("data", "may_be"),
    [
        (b"RIFF\x24\0\0\0WAVEfmt ", True),
        (b"ID3\x03", True),
        (b"fLaC\0", True),
        (b"OggS\0", True),
        (b"\0\0\0\x18ftypM4A \0\0", True),
        (b"\x1aE\xdf\xa3", True),
        (b"\x89PNG\r\n\x1a\n", False),
        (b"%PDF-1.7", False),
        (b"hello", False),
        (b"", False),
    ],
)
def test_what_may_be_sound_is_told_by_its_first_bytes(data: bytes, may_be: bool) -> None:
    assert is_recording(data) is may_be
