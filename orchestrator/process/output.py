"""The output of a child, as lines for the log and as the last words for an error."""

from __future__ import annotations

MAX_LINE_BYTES = 16 * 1024
LAST_WORDS_BYTES = 8 * 1024


class LineSplitter:
    """Cuts bytes, fed in pieces of any size, into lines of text without their ends.

    A line longer than ``limit`` bytes comes as several, cut between characters. Bytes that are no UTF-8
    become replacement characters.
    """

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._pending = b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that ``data`` completes."""
        *whole, pending = (self._pending + data).split(b"\n")
        lines = [line for raw in whole for line in self._cut(raw)]
        while len(pending) > self._limit:
            head = pending[: _character_end(pending, self._limit)]
            lines.append(_text(head))
            pending = pending[len(head) :]
        self._pending = pending
        return lines

    def close(self) -> list[str]:
        """What came after the last line end."""
        pending, self._pending = self._pending, b""
        return [_text(pending)] if pending else []

    def _cut(self, raw: bytes) -> list[str]:
        lines = []
        while len(raw) > self._limit:
            end = _character_end(raw, self._limit)
            lines.append(_text(raw[:end]))
            raw = raw[end:]
        lines.append(_text(raw.removesuffix(b"\r")))
        return lines


class Tail:
    """The last bytes of everything fed."""

    def __init__(self, limit: int = LAST_WORDS_BYTES) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        self._bytes += data[-self._limit :]
        if len(self._bytes) > 2 * self._limit:
            del self._bytes[: -self._limit]

    @property
    def text(self) -> str:
        """The last ``limit`` bytes as text, from the first whole character."""
        tail = bytes(self._bytes[-self._limit :])
        return _text(tail[_character_start(tail) :])


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _is_continuation(byte: int) -> bool:
    return byte & 0b1100_0000 == 0b1000_0000


def _character_start(raw: bytes) -> int:
    """Where the first character starts whose first byte is in ``raw``."""
    return next((index for index, byte in enumerate(raw[:4]) if not _is_continuation(byte)), 0)


def _character_end(raw: bytes, limit: int) -> int:
    """The last place up to ``limit`` that divides no character; ``raw`` is longer than that."""
    return next((end for end in range(limit, max(limit - 4, 0), -1) if not _is_continuation(raw[end])), limit)
