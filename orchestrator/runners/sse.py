"""Decoding of an engine's event stream: bytes in, payloads of complete events out.

llama-server writes one line ``data: JSON`` per event. What else may stand in a stream: blank lines,
comments (``:``, its pings), the other fields of event streams, which carry nothing here, and bare JSON,
which is an error body. Lines end with LF or CRLF.
"""

from __future__ import annotations

from orchestrator.errors import OrchestratorError

EVENT_LIMIT = 8_000_000
"""Bytes of the longest event that is accepted."""

_FIELDS_WITHOUT_PAYLOAD = (b"event:", b"id:", b"retry:")


class EventTooLong(OrchestratorError):
    """An event beyond ``EVENT_LIMIT``."""

    def __init__(self) -> None:
        super().__init__("stream event exceeded 8 MB limit")


class EventDecoder:
    """Cuts a stream, fed in pieces of any size, into payloads; any cutting gives the same payloads.

    A last line without an end is completed by feeding a line end.
    """

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._pending_size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that ``data`` completes. Raises ``EventTooLong``."""
        if self._pending:
            self._pending.append(data)
            if b"\n" not in data:
                return self._wait_for_more(len(data))
            data = b"".join(self._pending)
            self._pending.clear()
            self._pending_size = 0
        lines = data.split(b"\n")
        rest = lines.pop()
        if len(data) > EVENT_LIMIT and any(len(line) > EVENT_LIMIT for line in lines):
            raise EventTooLong
        payloads = []
        for line in lines:
            if line[:6] == b"data: ":
                payloads.append(line[6:])
            elif line and (payload := _payload(line)):
                payloads.append(payload)
        if rest:
            self._pending.append(rest)
            self._wait_for_more(len(rest))
        return payloads

    def _wait_for_more(self, size: int) -> list[bytes]:
        self._pending_size += size
        if self._pending_size > EVENT_LIMIT:
            raise EventTooLong
        return []


def _payload(line: bytes) -> bytes:
    """The payload of any line but the common form; empty if it has none."""
    line = line.rstrip(b"\r")
    if line.startswith((b":", *_FIELDS_WITHOUT_PAYLOAD)):
        return b""
    return line.removeprefix(b"data:")
