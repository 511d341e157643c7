"""What the scheduler reports for metrics."""

from __future__ import annotations

from typing import Protocol

from orchestrator.scheduler.effects import Reason


class SchedulerObserver(Protocol):
    """Hears of what the scheduler did. Must neither block nor raise."""

    def load_ended(self, seconds: float, *, succeeded: bool) -> None:
        """A start has succeeded or failed after so long."""

    def runner_left(self, reason: Reason) -> None:
        """A runner is on its way out."""

    def waited(self, seconds: float) -> None:
        """A request has got its runner after waiting so long."""


class NobodyListens:
    """The observer of a scheduler that nobody observes."""

    def load_ended(self, seconds: float, *, succeeded: bool) -> None:
        """Nothing is done with it."""

    def runner_left(self, reason: Reason) -> None:
        """Nothing is done with it."""

    def waited(self, seconds: float) -> None:
        """Nothing is done with it."""
