"""The machine the daemon runs on, as the scheduler asks for it."""

from __future__ import annotations

from orchestrator.discovery.cpu import usable_cores
from orchestrator.discovery.probe import DeviceProbe
from orchestrator.discovery.snapshot import system_memory
from orchestrator.domain.devices import Device, SystemMemory


class Machine:
    """Measures memory and devices. Without a ``probe`` there are no devices. Methods block for a moment."""

    def __init__(self, probe: DeviceProbe | None = None) -> None:
        self.cores = usable_cores()
        """Cores that engines may use."""
        self._probe = probe

    def system(self) -> SystemMemory | None:
        """Main memory now."""
        return system_memory()

    def devices(self) -> tuple[Device, ...]:
        """The GPUs that engines may use, with what is free on them now."""
        return () if self._probe is None else self._probe.devices()
