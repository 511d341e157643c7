"""How many connections a transfer uses: as many as make it faster.

Connections double for as long as that brings more bytes; the last step is taken back if it did not. A server
that refuses one is not asked for more. Pure: what was measured goes in, a number comes out.
"""

from __future__ import annotations

INTERVAL_S = 0.5
"""Between two measurements."""

MOST = 16
_WORTH = 1.25
"""A step up has to raise the speed by this much."""


class Ramp:
    """The number of connections that is ``wanted``."""

    def __init__(self, most: int = MOST) -> None:
        self.wanted = 1
        self._most = most
        self._grows = most > 1
        self._slower_bytes = 0.0
        """What the step before brought in one interval."""

    def measured(self, received_bytes: int) -> None:
        """What the connections of now have brought in one interval."""
        if not self._grows or not received_bytes:
            return
        if received_bytes < self._slower_bytes * _WORTH:
            self.wanted = max(self.wanted // 2, 1)
            self._grows = False
            return
        self._slower_bytes = received_bytes
        self._grows = self.wanted < self._most
        self.wanted = min(self.wanted * 2, self._most)

    def refused(self, active: int) -> None:
        """The server does not want that many."""
        self._grows = False
        self.wanted = max(min(self.wanted, active - 1), 1)

    def stop(self) -> None:
        """One is all that makes sense."""
        self.refused(1)
