"""What ``decide`` wants done. The loop performs it and reports back with an event."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from orchestrator.errors import OrchestratorError
from orchestrator.runners.base import LoadOrder


class Reason(StrEnum):
    """Why a runner leaves."""

    EXPIRED = "expired"
    """Its keep-alive has run out, or it was asked to leave."""
    EVICTED = "evicted"
    """Its place is needed by another model."""
    RELOADED = "reloaded"
    """The same model is wanted with other load options."""
    UNHEALTHY = "unhealthy"
    """It no longer answers its health check."""
    CRASHED = "crashed"
    """Its process has ended by itself; what is left has to be cleared away."""
    ABANDONED = "abandoned"
    """Nobody waits for its load any more, and somebody else waits."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Take the figures of free memory and devices, and the sizes of these files → ``Measured``."""

    paths: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class StartLoad:
    """Start a runner → ``Loaded`` or ``LoadFailed``."""

    key: str
    serial: int
    order: LoadOrder


@dataclass(frozen=True, slots=True)
class CancelLoad:
    """Give up a start → ``Stopped``."""

    key: str
    serial: int


@dataclass(frozen=True, slots=True)
class CheckHealth:
    """Ask a runner how it is → ``HealthChecked``."""

    key: str
    serial: int


@dataclass(frozen=True, slots=True)
class Stop:
    """End a process → ``Stopped``."""

    key: str
    serial: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Grant:
    """Lend a runner to a waiting request, until ``Released``."""

    request_id: int
    key: str
    serial: int


@dataclass(frozen=True, slots=True)
class Fail:
    """Tell a waiting request that it gets no runner."""

    request_id: int
    error: OrchestratorError


Effect = Measure | StartLoad | CancelLoad | CheckHealth | Stop | Grant | Fail
