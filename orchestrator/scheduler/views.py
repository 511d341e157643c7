"""Snapshots of the scheduler for ``/api/ps`` and metrics. Nothing is decided from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.domain.loads import LoadSpec, ModelFiles


class RunnerState(StrEnum):
    """Where a runner is in its life."""

    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"
    """Serves the requests it has and leaves when they are done."""
    STOPPING = "stopping"
    """The process has been told to end, or a load has been given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerView:
    """One runner at one moment."""

    spec: LoadSpec
    """What it was loaded with, in effect."""
    state: RunnerState
    total_bytes: int = 0
    vram_bytes: int = 0
    expires_ns: int | None = None
    """Wall clock, nanoseconds since the epoch; ``None`` while it is stopping.

    For a runner that loads or is busy: when it would expire if it became idle now.
    """
    active: int = 0
    """Requests that hold a lease."""
    waiting: int = 0
    """Requests that wait for this model."""
    slots: int = 1
    pid: int | None = None
    load_ns: int = 0
    """How long the load took."""

    @property
    def files(self) -> ModelFiles:
        """The model it serves."""
        return self.spec.files

    @property
    def num_ctx(self) -> int:
        """Tokens of context per slot."""
        return self.spec.options.num_ctx


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """Who waits for a runner at one moment."""

    length: int = 0
    by_model: Mapping[str, int] = field(default_factory=dict)
    """Waiting requests by model name."""
    oldest_ns: int = 0
    """How long the first in line has waited."""
