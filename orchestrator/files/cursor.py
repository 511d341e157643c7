"""Reading forward through a file whose lengths cannot be trusted.

Every length is checked against the size of the file before a byte of it is read, and only a window of the
file is in memory. Plain reads are used, not a memory map: a file cut short while it is mapped kills the
process that looks.
"""

from __future__ import annotations

import struct
from typing import IO, Any, Literal

from orchestrator.files.errors import MalformedGguf

ByteOrder = Literal["<", ">"]

FIRST_WINDOW_BYTES = 16 << 10
LARGEST_WINDOW_BYTES = 1 << 20


class Cursor:
    """A position in a file, with typed reads from it. The file stays the caller's to close."""

    def __init__(self, file: IO[bytes], size: int, *, limit: int) -> None:
        """``limit`` is the position that reading may not pass, whatever the size of the file."""
        self._file = file
        self._size = size
        self._limit = limit
        self._window = b""
        self._window_start = 0
        self._at = 0
        self._next_window_bytes = FIRST_WINDOW_BYTES
        self.order: ByteOrder = "<"

    @property
    def position(self) -> int:
        """Offset of the next byte from the start of the file."""
        return self._window_start + self._at

    @property
    def remaining(self) -> int:
        """Bytes of the file that are left."""
        return self._size - self.position

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        self._need(count)
        start = self._at
        self._at += count
        return self._window[start : self._at]

    def skip(self, count: int) -> None:
        """Pass over ``count`` bytes without reading them."""
        if count > self.remaining:
            raise MalformedGguf("malformed GGUF: unexpected end of file")
        if self.position + count > self._limit:
            raise MalformedGguf(f"malformed GGUF: header exceeds maximum {self._limit} bytes")
        if self._at + count <= len(self._window):
            self._at += count
        else:
            self._window_start = self.position + count
            self._window, self._at = b"", 0

    def number(self, code: str) -> Any:
        """One value of the ``struct`` format character ``code``."""
        return self.numbers(code, 1)[0]

    def numbers(self, code: str, count: int) -> tuple[Any, ...]:
        """``count`` values of the ``struct`` format character ``code``."""
        size = count * struct.calcsize(f"<{code}")
        self._need(size)
        start = self._at
        self._at += size
        return struct.unpack_from(f"{self.order}{count}{code}", self._window, start)

    def text_bytes(self, max_bytes: int) -> bytes:
        """A string: its length in 64 bits, then that many bytes."""
        length = self.number("Q")
        if length > max_bytes:
            raise MalformedGguf(f"malformed GGUF: GGUF string length {length} exceeds maximum {max_bytes}")
        return self.take(length)

    def texts(self, count: int, max_bytes: int) -> list[bytes]:
        """``count`` strings."""
        length_at = struct.Struct(f"{self.order}Q").unpack_from
        texts: list[bytes] = []
        while len(texts) < count:
            texts.append(self.text_bytes(max_bytes))  # moves the window on, the loop below stays inside
            window, at = self._window, self._at
            while len(texts) < count and at + 8 <= len(window):
                end = at + 8 + length_at(window, at)[0]
                if end > len(window):
                    break
                texts.append(window[at + 8 : end])
                at = end
            self._at = at
        return texts

    def skip_texts(self, count: int) -> None:
        """Pass over ``count`` strings. The loop is tight because vocabularies have 250,000 of them."""
        if count * 8 > self.remaining:
            raise MalformedGguf("malformed GGUF: unexpected end of file")
        length_at = struct.Struct(f"{self.order}Q").unpack_from
        passed = 0
        while passed < count:
            self._need(8)
            window, at = self._window, self._at
            try:
                for passed in range(passed, count):  # noqa: B007, B020  # where it stops is what counts
                    at += 8 + length_at(window, at)[0]
                passed = count
            except (struct.error, OverflowError):
                pass  # the window ended in front of string number ``passed``
            self.skip(at - self._at)

    def _need(self, count: int) -> None:
        """Have ``count`` bytes from the position on in the window."""
        if self._at + count <= len(self._window):
            return
        position = self.position
        if count > self._size - position:
            raise MalformedGguf("malformed GGUF: unexpected end of file")
        if position + count > self._limit:
            raise MalformedGguf(f"malformed GGUF: header exceeds maximum {self._limit} bytes")
        self._file.seek(position)
        self._window = self._file.read(max(count, self._next_window_bytes))
        self._window_start, self._at = position, 0
        self._next_window_bytes = min(4 * self._next_window_bytes, LARGEST_WINDOW_BYTES)
        if len(self._window) < count:
            raise MalformedGguf("malformed GGUF: unexpected end of file")
