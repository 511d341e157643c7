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


@dataclass(frozen=True, slots=True)
class _AtHeader:
    """A header comes next, behind some padding; or the end."""

    padding_bytes: int = 0
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class _InExtension:
    """What is said of the next file comes, in one of the ways there are."""

    kind: bytes
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _InFile:
    """The rest of a file comes."""

    size_bytes: int
    left_bytes: int


@dataclass(frozen=True, slots=True)
class _Ended:
    """Whatever comes is none of the archive."""


_State = _AtHeader | _InExtension | _InFile | _Ended


@dataclass(slots=True)
class _Said:
    """What extensions have said of the next file."""

    name: str | None = None
    size_bytes: int | None = None


class TarReader:
    """Turns bytes into events, however they are cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._state: _State = _AtHeader(is_first=True)
        self._said = _Said()

    def feed(self, content: bytes) -> Iterator[Event]:
        """The events that end with ``content``. Raises ``ArchiveRefused``."""
        self._buffer += content
        while self._buffer and len(self._buffer) >= self._needed_bytes():
            yield from self._step()

    def close(self) -> None:
        """There is no more. Raises ``ArchiveRefused`` when the archive has not come to its end."""
        match self._state:
            case _Ended():
                return
            case _AtHeader(is_first=True):
                raise ArchiveRefused("it is no tar archive" if self._buffer else "it is empty")
            case _:
                raise ArchiveRefused("it is cut off, the end is missing")

    def _needed_bytes(self) -> int:
        """How much must be there for the next step."""
        match self._state:
            case _AtHeader(padding_bytes):
                return padding_bytes + BLOCK_BYTES
            case _InExtension(_, size_bytes):
                return size_bytes
            case _InFile() | _Ended():
                return 1

    def _step(self) -> Iterator[Event]:
        match self._state:
            case _AtHeader(padding_bytes):
                self._taken(padding_bytes)
                yield from self._header(self._taken(BLOCK_BYTES))
            case _InExtension(kind, size_bytes):
                self._read_extension(kind, self._taken(size_bytes))
                self._state = _behind(size_bytes)
            case _InFile(size_bytes, left_bytes):
                piece = self._taken(min(left_bytes, len(self._buffer)))
                yield Piece(piece)
                yield from self._go_on(size_bytes, left_bytes - len(piece))
            case _Ended():
                self._buffer.clear()

    def _taken(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _go_on(self, size_bytes: int, left_bytes: int) -> Iterator[Event]:
        """Within the file that has begun, or behind it if nothing is left of it."""
        if left_bytes:
            self._state = _InFile(size_bytes, left_bytes)
        else:
            self._state = _behind(size_bytes)
            yield End()

    def _header(self, block: bytes) -> Iterator[Event]:
        is_first = self._state == _AtHeader(is_first=True)
        if not any(block):
            if is_first:
                raise ArchiveRefused("it holds nothing")
            self._state = _Ended()
            return
        entry = _parsed(block, is_first=is_first)
        self._state = _behind(0)
        if entry.type in (_PAX, _PAX_OF_ALL, _LONG_NAME):
            self._state = _extension(entry)
            return
        if entry.type in _LINKS:
            raise ArchiveRefused(f"{entry.name!r} is a link, which no part of a model is")
        said, self._said = self._said, _Said()
        name = said.name or entry.name
        size_bytes = entry.size if said.size_bytes is None else said.size_bytes
        if entry.type == tarfile.DIRTYPE:
            return
        if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise ArchiveRefused(f"{name!r} is no regular file")
        yield Begin(name, size_bytes)
        yield from self._go_on(size_bytes, size_bytes)

    def _read_extension(self, kind: bytes, content: bytes) -> None:
        if kind == _LONG_NAME:
            self._said.name = content.rstrip(b"\0").decode("utf-8", "replace")
        elif kind == _PAX:
            for key, value in _pax_records(content):
                if key == "path":
                    self._said.name = value
                elif key == "size":
                    self._said.size_bytes = _pax_size(value)
                elif key.startswith("GNU.sparse"):
                    raise ArchiveRefused("it holds sparse files")


def _behind(size_bytes: int) -> _AtHeader:
    return _AtHeader(-size_bytes % BLOCK_BYTES)


def _parsed(block: bytes, *, is_first: bool) -> tarfile.TarInfo:
    if is_first:
        for magic, name in _COMPRESSIONS.items():
            if block.startswith(magic):
                raise ArchiveRefused(f"it is compressed with {name}; unpack that first")
    try:
        entry = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
    except tarfile.HeaderError as error:
        raise ArchiveRefused("it is no tar archive" if is_first else "a header is damaged") from error
    if entry.size < 0:
        raise ArchiveRefused(f"{entry.name!r} has a negative size")
    return entry


def _extension(entry: tarfile.TarInfo) -> _InExtension:
    """What comes behind the header of an extension."""
    if entry.size > LARGEST_EXTENSION_BYTES:
        raise ArchiveRefused(f"a header of {entry.size} bytes is larger than any that is needed")
    if not entry.size:
        raise ArchiveRefused("a header is empty")
    return _InExtension(entry.type, entry.size)


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
