"""Where a parser puts what it has found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.base import NOTHING, Parsed


@dataclass(frozen=True, slots=True)
class Sink:
    """One way out for text."""

    add: Callable[[str], None]
    passed: Callable[[str], Parsed]
    """The reply for a piece that goes this way as it is and alone."""


class Output:
    """Content, thinking and calls found since they were last taken."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self.content = Sink(self._content.append, _said)
        self.thinking = Sink(self._thinking.append, _thought)
        self.dropped = Sink(_drop, _nothing)

    def call(self, *calls: ToolCall) -> None:
        """Add calls; they can never be taken back."""
        self._calls.extend(calls)

    def take(self) -> Parsed:
        """All there is, and start anew."""
        if not (self._content or self._thinking or self._calls):
            return NOTHING
        parsed = Parsed("".join(self._content), "".join(self._thinking), tuple(self._calls))
        self._content.clear()
        self._thinking.clear()
        self._calls.clear()
        return parsed


# once per token: half the cost of Parsed(text)
_new = tuple.__new__


def _said(text: str) -> Parsed:
    return _new(Parsed, (text, "", ()))


def _thought(text: str) -> Parsed:
    return _new(Parsed, ("", text, ()))


def _drop(text: str) -> None:
    """Text that nobody shall see."""


def _nothing(text: str) -> Parsed:
    return NOTHING
