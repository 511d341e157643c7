"""How often something is tried again, and how long is waited before."""

from __future__ import annotations

import random
from dataclasses import dataclass

from orchestrator.registry.errors import RegistryError, RetriesExhausted


@dataclass(frozen=True, slots=True)
class Patience:
    """Delays that double, each varied so that clients do not come back all at once."""

    attempts: int = 6
    first_delay_s: float = 1.0
    longest_delay_s: float = 32.0
    longest_wait_s: float = 120.0
    """A registry may ask to wait, but not for longer than that."""

    def delay(self, failures: int, error: RegistryError) -> float:
        """Seconds to wait after the last of several failures in a row.

        Raises ``RetriesExhausted``, or the error itself when there is no point in waiting.
        """
        asked = error.retry_after_s or 0.0
        if not error.temporary or asked > self.longest_wait_s:
            raise error
        if failures >= self.attempts:
            raise RetriesExhausted(error) from error
        delay = min(self.first_delay_s * 2.0 ** (failures - 1), self.longest_delay_s)
        return max(delay * random.uniform(0.5, 1.5), asked)


_PROGRESS_BYTES = 1 << 20
"""So much since the failure before is as good as a success."""


class Attempts:
    """The failures in a row of something that may get further each time."""

    def __init__(self, patience: Patience, reached_bytes: int) -> None:
        self._patience = patience
        self._reached_bytes = reached_bytes
        self._failures = 0

    def failed(self, error: RegistryError, reached_bytes: int) -> float:
        """Seconds to wait before the next attempt; see ``Patience.delay``."""
        has_progressed = reached_bytes - self._reached_bytes >= _PROGRESS_BYTES
        if has_progressed:
            self._failures, self._reached_bytes = 0, reached_bytes
        self._failures += 1
        delay = self._patience.delay(self._failures, error)
        return error.retry_after_s or 0.0 if has_progressed else delay


BRIEF = Patience(attempts=4, first_delay_s=0.25)
"""For small questions that a user waits for."""
