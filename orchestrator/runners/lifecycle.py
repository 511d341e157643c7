"""The life of a runner's process.

::

    Starting ──Healthy──▶ Ready
        │                   │
        ├───────StopAsked───┤──▶ Stopping
        │                   │       │
        └──────Exited───────┴───────┴──▶ Stopped
"""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Starting:
    """The process runs, the model loads."""

    pid: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The process answers calls."""

    pid: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """The process was told to end."""

    pid: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The process has ended and was reaped."""

    status: int
    """Exit status, negative for a signal."""
    last_words: str = ""
    """The error lines of its log, or else the end of its output."""
    asked: bool = False
    """It ended because we wanted it to."""

    @property
    def cause(self) -> str:
        """Status and last words, in the form of Ollama's messages."""
        if self.status == 0:
            return self.last_words or "OK"
        how = f"exit status {self.status}" if self.status > 0 else f"signal: {_signal_name(-self.status)}"
        return f"{how}: {self.last_words}" if self.last_words else how


State = Starting | Ready | Stopping | Stopped


@dataclass(frozen=True, slots=True)
class Healthy:
    """The engine says that it may serve."""


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Somebody wants the process gone."""


@dataclass(frozen=True, slots=True)
class Exited:
    """The process has ended."""

    status: int
    last_words: str = ""


Event = Healthy | StopAsked | Exited


def step(state: State, event: Event) -> State:
    """The whole life of a runner's process."""
    match state, event:
        case Starting(pid), Healthy():
            return Ready(pid)
        case Starting(pid) | Ready(pid), StopAsked():
            return Stopping(pid)
        case Ready() | Stopping() | Stopped(), Healthy():
            return state  # a late answer
        case Stopping() | Stopped(), StopAsked():
            return state  # asked again
        case Starting() | Ready(), Exited(status, last_words):
            return Stopped(status, last_words)
        case Stopping(), Exited(status, last_words):
            return Stopped(status, last_words, asked=True)
        case Stopped(), Exited():
            return state
    raise AssertionError((state, event))


def _signal_name(number: int) -> str:
    description = signal.strsignal(number)
    return description.lower() if description else str(number)
