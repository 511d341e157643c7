"""Stop strings, looked for once more on our side.

The engine ends a generation at a stop string and keeps it back. Should one come through all the same, whole
or in part, it must not reach the client (case B087).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from orchestrator.parsers.text import Tags


class StopGuard:
    """Lets text through up to the first of ``stops``; the beginning of one waits for what follows it."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.found = ""
        """The stop string that came."""
        self._stops = _tags(tuple(stops))
        self._stirs = self._stops.stirs
        self._held = ""

    def take(self, text: str) -> str:
        """What of the text so far may be shown."""
        if not self._held and not self._stirs(text):
            return text
        text = self._held + text
        if match := self._stops.search(text):
            self.found, self._held = match.group(), ""
            return text[: match.start()]
        cut = len(text) - self._stops.partial(text)
        self._held = text[cut:]
        return text[:cut]

    def end(self, stopped_at: str) -> str:
        """What was held back, unless it belongs to the stop string that ended the generation."""
        held, self._held = self._held, ""
        return "" if held and stopped_at.startswith(held) else held


@lru_cache(maxsize=256)
def _tags(stops: tuple[str, ...]) -> Tags:
    """Longer ones are found first; most requests for a model have the same."""
    return Tags(*sorted(filter(None, stops), key=len, reverse=True))
