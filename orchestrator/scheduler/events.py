"""What can happen to the scheduler. Times are nanoseconds of one monotonic clock.

``serial`` tells one start of a model from the next: an event about an earlier one is recognised and ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import OrchestratorError
from orchestrator.runners.base import MemoryUse
from orchestrator.scheduler.world import Request


@dataclass(frozen=True, slots=True)
class Asked:
    """A request wants a runner."""

    now: int
    request: Request


@dataclass(frozen=True, slots=True)
class Dropped:
    """A waiting request has gone away."""

    now: int
    request_id: int


@dataclass(frozen=True, slots=True)
class Released:
    """A lease was given back."""

    now: int
    key: str
    serial: int
    suspect: bool = False
    """The engine failed under this lease, so it has to prove its health before it is lent again."""
    out_of_memory: bool = False
    """The engine ran out of memory under this lease, so everything leaves."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Free memory and devices, as asked for by ``Measure``."""

    now: int
    system: SystemMemory | None
    """``None`` where it cannot be known."""
    devices: tuple[Device, ...] = ()
    sizes: Mapping[Path, int] = field(default_factory=dict)
    """Bytes of the files asked about, as far as they are there."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A start has succeeded: the runner may serve."""

    now: int
    key: str
    serial: int
    spec: LoadSpec
    """What is in force, as the runner tells."""
    mmap_auto: bool = False
    memory: MemoryUse = MemoryUse()


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """A start has failed; nothing is left of the process."""

    now: int
    key: str
    serial: int
    error: OrchestratorError
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True)
class HealthChecked:
    """The answer to ``CheckHealth``."""

    now: int
    key: str
    serial: int
    healthy: bool


@dataclass(frozen=True, slots=True)
class Exited:
    """A process ended by itself."""

    now: int
    key: str
    serial: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """A process has been ended, or a load given up; its memory is free again."""

    now: int
    key: str
    serial: int


@dataclass(frozen=True, slots=True)
class UnloadAsked:
    """A user wants a model out of memory."""

    now: int
    key: str


@dataclass(frozen=True, slots=True)
class Ticked:
    """The time of ``next_deadline`` has come."""

    now: int


@dataclass(frozen=True, slots=True)
class ClosedDown:
    """The daemon stops: nobody is served any more."""

    now: int


Event = (
    Asked | Dropped | Released | Measured | Loaded | LoadFailed | HealthChecked | Exited | Stopped
    | UnloadAsked | Ticked | ClosedDown
)  # fmt: skip
