"""How many connections a transfer uses: as many as make it faster.

Connections double for as long as that brings more bytes; a step that did not is taken back, and tried again
after a while, for networks change. A server that refuses connections is not asked for more. Pure: what was
measured goes in, a number comes out.
"""

from __future__ import annotations

INTERVAL_S = 0.5
"""Between two measurements."""

MOST = 16
_WORTH = 1.25
"""A step up has to raise the speed by this much."""

_FIRST_REST = 20
_LONGEST_REST = 240
"""Measurements until a step that was not worth it is tried again; each time it is twice as many."""


class Ramp:
    """The number of connections that is ``wanted``."""

    def __init__(self, most: int = MOST) -> None:
        self.wanted = 1
        self._most = most
        self._rest = 0
        """Measurements until the next step is tried."""
        self._next_rest = _FIRST_REST
        self._slower_bytes = 0.0
        """What came in one interval before the latest step."""

    def measured(self, received_bytes: int) -> None:
        """What the connections of now have brought in one interval."""
        if not received_bytes:
            return
        if self._rest:
            self._rest -= 1
            if not self._rest:
                self._step_up(received_bytes)
        elif received_bytes >= self._slower_bytes * _WORTH:
            self._step_up(received_bytes)
        else:
            self.wanted = max(self.wanted // 2, 1)
            self._rest, self._next_rest = self._next_rest, min(self._next_rest * 2, _LONGEST_REST)

    def refused(self, active: int) -> None:
        """The server does not want that many."""
        self.wanted = self._most = max(min(self.wanted, active - 1), 1)

    def stop(self) -> None:
        """One is all that makes sense."""
        self.refused(1)

    def _step_up(self, received_bytes: int) -> None:
        if self.wanted < self._most:
            self._slower_bytes = received_bytes
            self.wanted = min(self.wanted * 2, self._most)
