"""Main memory as it is now, within the limits of control groups.

Source: ``discovery-build`` §5.
"""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from orchestrator.discovery.cgroup import ControlGroups, GroupMemory
from orchestrator.domain.devices import SystemMemory


def system_memory(groups: ControlGroups | None = None) -> SystemMemory:
    """Measure this machine."""
    host, swap = psutil.virtual_memory(), psutil.swap_memory()
    memory = SystemMemory(host.total, host.available, swap.free)
    return within(memory, (groups or ControlGroups()).memory())


def within(memory: SystemMemory, groups: Iterable[GroupMemory]) -> SystemMemory:
    """What of the machine's memory its control groups leave to us."""
    total, free = memory.total_bytes, memory.free_bytes
    for group in groups:
        total = min(total, group.limit_bytes)
        free = min(free, max(group.limit_bytes - group.used_bytes, 0))
    return SystemMemory(total, free, memory.swap_free_bytes)
