"""A request's hold on a ready runner."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import OrchestratorError
from orchestrator.runners.base import Runner


@dataclass(slots=True, kw_only=True)
class Lease:
    """While it is held, the runner is busy: neither evicted nor reloaded. ``Scheduler.lease`` gives one."""

    runner: Runner
    spec: LoadSpec
    """What the runner was loaded with, in effect: its window may be larger than the one asked for."""
    waited_ns: int
    """From asking to getting, a load included."""
    load_ns: int
    """How long the load took that this request waited for; 0 when the runner was there already."""
    error: OrchestratorError | None = None
    """Set by the holder when something failed that does not leave the block as an exception."""
