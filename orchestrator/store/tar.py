"""Tar archives as a stream: headers to be written, and a reader that is fed bytes and trusts none of them.

Only what an archive of models needs is known: regular files, directories (passed over), and the two ways of
writing long names and large sizes (pax records, GNU's long names). All else is refused, as are headers that
are larger than any name. No I/O is done here.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.errors import BadRequest

BLOCK_BYTES = 512
END = bytes(2 * BLOCK_BYTES)
"""What stands behind the last file."""

LARGEST_EXTENSION_BYTES = 64 << 10
"""Of the records that carry a long name; a name has at most 600 bytes."""

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_PAX, _PAX_OF_ALL, _LONG_NAME = b"x", b"g", b"L"
_LINKS = frozenset({tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.GNUTYPE_LONGLINK})


class ArchiveRefused(BadRequest):
    """What was sent is no archive of models, or one that must not be trusted."""

    hint = "archives of models are made with `orch export`"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the archive is refused: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Begin:
    """A file comes."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of the file that has begun."""

    content: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The file that had begun is complete."""


Event = Begin | Piece | End


def header(name: str, size_bytes: int, *, modified_s: int) -> bytes:
    """What stands before a file."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size_bytes, modified_s, 0o644
    return entry.tobuf(tarfile.PAX_FORMAT)


def padding(size_bytes: int) -> bytes:
    """What stands behind a file."""
    return bytes(-size_bytes % BLOCK_BYTES)


class TarReader:
    """Turns bytes into events, however they are cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._size_bytes = 0
        self._body_bytes = 0
        """How much of the current file is still to come; 0 outside of files."""
        self._padding_bytes = 0
        self._in_file = False
        self._extension = b""
        """The kind of extension whose content is collected."""
        self._collected = bytearray()
        self._next_name: str | None = None
        self._next_size: int | None = None
        self._ended = False
        self._started = False

    def feed(self, content: bytes) -> Iterator[Event]:
        """The events that end with ``content``. Raises ``ArchiveRefused``."""
        self._buffer += content
        while not self._ended:
            if self._in_file:
                yield from self._body()
                if self._in_file:
                    return
            elif len(self._buffer) < self._padding_bytes + BLOCK_BYTES:
                return
            else:
                del self._buffer[: self._padding_bytes]
                self._padding_bytes = 0
                yield from self._header(self._taken(BLOCK_BYTES))
        self._buffer.clear()

    def close(self) -> None:
        """There is no more. Raises ``ArchiveRefused`` when the archive has not come to its end."""
        if not self._started and not self._buffer:
            raise ArchiveRefused("it is empty")
        if not self._started:
            raise ArchiveRefused("it is no tar archive")
        if not self._ended:
            raise ArchiveRefused("it is cut off, the end is missing")

    def _taken(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _header(self, block: bytes) -> Iterator[Event]:
        if not any(block):
            if not self._started or self._extension:
                raise ArchiveRefused("it holds nothing")
            self._ended = True
            return
        entry = self._parsed(block)
        self._started = True
        if entry.type in (_PAX, _PAX_OF_ALL, _LONG_NAME):
            self._begin_extension(entry)
            return
        if entry.type in _LINKS:
            raise ArchiveRefused(f"{entry.name!r} is a link, which no part of a model is")
        name, size = self._next_name or entry.name, self._next_size
        self._next_name = self._next_size = None
        if entry.type == tarfile.DIRTYPE:
            return
        if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise ArchiveRefused(f"{name!r} is no regular file")
        yield from self._begin(name, entry.size if size is None else size)

    def _parsed(self, block: bytes) -> tarfile.TarInfo:
        if not self._started:
            for magic, name in _COMPRESSIONS.items():
                if block.startswith(magic):
                    raise ArchiveRefused(f"it is compressed with {name}; unpack that first")
        try:
            entry = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
        except tarfile.HeaderError as error:
            what = "it is no tar archive" if not self._started else "a header is damaged"
            raise ArchiveRefused(what) from error
        if entry.size < 0:
            raise ArchiveRefused(f"{entry.name!r} has a negative size")
        return entry

    def _begin_extension(self, entry: tarfile.TarInfo) -> None:
        if entry.size > LARGEST_EXTENSION_BYTES:
            raise ArchiveRefused(f"a header of {entry.size} bytes is larger than any that is needed")
        self._extension = entry.type
        self._collected.clear()
        self._body_bytes, self._padding_bytes, self._in_file = entry.size, 0, True
        if not entry.size:
            raise ArchiveRefused("a header is empty")

    def _begin(self, name: str, size_bytes: int) -> Iterator[Event]:
        yield Begin(name, size_bytes)
        self._body_bytes, self._in_file = size_bytes, True
        self._size_bytes = size_bytes
        if not size_bytes:
            yield from self._end()

    def _body(self) -> Iterator[Event]:
        piece = self._taken(min(self._body_bytes, len(self._buffer)))
        self._body_bytes -= len(piece)
        if self._extension:
            self._collected += piece
        elif piece:
            yield Piece(piece)
        if not self._body_bytes:
            yield from self._end()

    def _end(self) -> Iterator[Event]:
        self._in_file = False
        if not self._extension:
            self._padding_bytes = -self._size_bytes % BLOCK_BYTES
            yield End()
            return
        self._padding_bytes = -len(self._collected) % BLOCK_BYTES
        self._read_extension(self._extension, bytes(self._collected))
        self._extension = b""

    def _read_extension(self, kind: bytes, content: bytes) -> None:
        if kind == _LONG_NAME:
            self._next_name = content.rstrip(b"\0").decode("utf-8", "replace")
        elif kind == _PAX:
            for key, value in _pax_records(content):
                if key == "path":
                    self._next_name = value
                elif key == "size":
                    self._next_size = _pax_size(value)
                elif key.startswith("GNU.sparse"):
                    raise ArchiveRefused("it holds sparse files")


def _pax_records(content: bytes) -> Iterator[tuple[str, str]]:
    """Records of the form ``<length> <key>=<value>\\n``."""
    while content:
        digits, blank, _ = content.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        if length > len(content):
            raise ArchiveRefused("a header is damaged")
        record, content = content[len(digits) + 1 : length], content[length:]
        key, equals, value = record.partition(b"=")
        if not blank or not equals or not value.endswith(b"\n"):
            raise ArchiveRefused("a header is damaged")
        yield key.decode("utf-8", "replace"), value[:-1].decode("utf-8", "replace")


def _pax_size(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ArchiveRefused("a header is damaged")
    return int(text)
