"""Tar archives as a stream: what our headers make is read by all, and nothing hostile is read by us."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.tar import (
    BLOCK_BYTES,
    END,
    LARGEST_EXTENSION_BYTES,
    ArchiveRefused,
    Begin,
    Piece,
    TarReader,
    header,
    padding,
)

FILES = {"manifests/" + "n" * 300: b"{}", "blobs/a": b"", "blobs/b": bytes(range(256)) * 5}


def archive(files: dict[str, bytes] = FILES) -> bytes:
    out = b"".join(
        header(name, len(content), modified_s=1) + content + padding(len(content))
        for name, content in files.items()
    )
    return out + END


def read(*pieces: bytes) -> dict[str, bytes]:
    """The files of an archive that comes in these pieces."""
    reader, files, name = TarReader(), dict[str, bytes](), ""
    for piece in pieces:
        for event in reader.feed(piece):
            if isinstance(event, Begin):
                name = event.name
                files[name] = b""
            elif isinstance(event, Piece):
                files[name] += event.content
    reader.close()
    return files


def refusal(*pieces: bytes) -> str:
    with pytest.raises(ArchiveRefused) as caught:
        read(*pieces)
    return caught.value.reason


def made(edit: Callable[[tarfile.TarInfo], object], *, kind: int = tarfile.PAX_FORMAT) -> bytes:
    """An archive of one entry, made by the standard library."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
        entry = tarfile.TarInfo("blobs/x")
        edit(entry)
        tar.addfile(entry, io.BytesIO(bytes(entry.size)))
    return out.getvalue()


def test_other_programs_read_what_is_written() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive())) as tar:
        found = {entry.name: (tar.extractfile(entry) or io.BytesIO()).read() for entry in tar}
    assert found == FILES


@given(st.lists(st.integers(1, 4000), max_size=12))
def test_it_is_read_however_it_is_cut(cuts: list[int]) -> None:
    whole = archive()

    def pieces() -> Iterator[bytes]:
        rest = whole
        for cut in cuts:
            yield rest[:cut]
            rest = rest[cut:]
        yield rest

    assert read(*pieces()) == FILES


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_of_other_programs_are_read(kind: int) -> None:
    name = "manifests/" + "x" * 250

    def edit(entry: tarfile.TarInfo) -> None:
        entry.name, entry.size = name, 3

    assert read(made(edit, kind=kind)) == {name: bytes(3)}


def test_directories_are_passed_over() -> None:
    assert read(made(lambda entry: setattr(entry, "type", tarfile.DIRTYPE))) == {}


@pytest.mark.parametrize("size", [9 << 30, 1 << 40])
def test_sizes_beyond_the_old_limit_are_read(size: int) -> None:
    for content in (header("blobs/x", size, modified_s=0), gnu_header(size)):
        assert list(TarReader().feed(content)) == [Begin("blobs/x", size)]


def gnu_header(size: int) -> bytes:
    entry = tarfile.TarInfo("blobs/x")
    entry.size = size
    return entry.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_refused(kind: bytes) -> None:
    def edit(entry: tarfile.TarInfo) -> None:
        entry.type, entry.linkname = kind, "/etc/passwd"

    assert "is a link" in refusal(made(edit))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE])
def test_what_is_no_file_is_refused(kind: bytes) -> None:
    assert "no regular file" in refusal(made(lambda entry: setattr(entry, "type", kind)))


@pytest.mark.parametrize("kind", [b"x", b"g", b"L"])
def test_headers_larger_than_any_name_are_refused(kind: bytes) -> None:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = kind, LARGEST_EXTENSION_BYTES + 1
    assert "larger than any" in refusal(entry.tobuf(tarfile.USTAR_FORMAT))


@pytest.mark.parametrize(
    "records",
    [b"x", b"8 path=x\n", b"99 path=x\n", b"8 path x\n", b"10 size=-1\n", b"12 size=1e99\n", b"0 a=b\n"],
)
def test_damaged_extensions_are_refused(records: bytes) -> None:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = b"x", len(records)
    assert "header is damaged" in refusal(entry.tobuf(tarfile.USTAR_FORMAT), records, padding(len(records)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (END, "it holds nothing"),
        (b"GGUF" + bytes(600), "it is no tar archive"),
        (b"\x1f\x8b" + bytes(600), "it is compressed with gzip; unpack that first"),
        (b"\x28\xb5\x2f\xfd" + bytes(600), "it is compressed with zstd; unpack that first"),
        (b"short", "it is no tar archive"),
    ],
)
def test_what_is_no_archive_is_refused(content: bytes, reason: str) -> None:
    assert refusal(content) == reason


def test_a_broken_header_is_refused() -> None:
    content = bytearray(archive({"blobs/a": b"a", "blobs/b": b"b"}))
    content[1024] ^= 1
    assert refusal(bytes(content)) == "a header is damaged"


def test_an_archive_that_is_cut_off_anywhere_is_refused() -> None:
    whole = archive({"blobs/a": b"abc"})
    for end in range(BLOCK_BYTES, len(whole) - len(END) + 511, 64):
        assert "cut off" in refusal(whole[:end])


@given(st.binary(max_size=2048))
def test_no_bytes_surprise_the_reader(content: bytes) -> None:
    with suppress(ArchiveRefused):
        read(content)


def test_what_follows_the_end_is_passed_over() -> None:
    assert read(archive(), b"trailing") == FILES
