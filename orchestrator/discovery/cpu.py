"""How many processor cores engines may use.

Source: ``discovery-build`` §5.
"""

from __future__ import annotations

import os

import psutil

from orchestrator.discovery.cgroup import ControlGroups


def usable_cores(groups: ControlGroups | None = None) -> int:
    """Physical cores, but no more than this process may run on, or than its quota of time makes up."""
    counts = (psutil.cpu_count(logical=False), _allowed(), (groups or ControlGroups()).cpu_quota())
    return max(min(count for count in counts if count), 1)


def thread_limit(groups: ControlGroups | None = None) -> int | None:
    """The cores for an engine where there are fewer than it would count; ``None`` lets it count."""
    cores, physical = usable_cores(groups), psutil.cpu_count(logical=False)
    return cores if physical and cores < physical else None


def _allowed() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
