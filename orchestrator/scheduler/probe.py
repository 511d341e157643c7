"""Where the scheduler gets its figures of memory and devices from."""

from __future__ import annotations

from typing import Protocol

from orchestrator.domain.devices import Device, SystemMemory


class MemoryProbe(Protocol):
    """Measures the machine. Runs in a thread of its own, so it may block for a moment."""

    def system(self) -> SystemMemory | None:
        """Main memory; ``None`` where it cannot be known."""

    def devices(self) -> tuple[Device, ...]:
        """The GPUs that engines may use, with what is free on them now."""
