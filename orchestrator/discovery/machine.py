"""The machine the daemon runs on, as the scheduler asks for it."""

from __future__ import annotations

import psutil

from orchestrator.domain.devices import Device, SystemMemory


class Machine:
    """Measures memory and devices."""

    def __init__(self) -> None:
        self.cores = psutil.cpu_count(logical=False) or 1

    def system(self) -> SystemMemory | None:
        """Main memory now."""
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        return SystemMemory(memory.total, memory.available, swap.free)

    def devices(self) -> tuple[Device, ...]:
        """The GPUs that engines may use."""
        return ()
