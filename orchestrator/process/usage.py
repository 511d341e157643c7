"""What a process has used."""

from __future__ import annotations

import sys
import time

import psutil

_OF_PROCESS = 2
"""The clock that tells what the scheduler gave; source: ``clock_getcpuclockid(3)`` of Linux."""


def cpu_s(pid: int) -> float:
    """The processor time of all threads of a process so far, in seconds; 0 when it is gone."""
    try:
        if sys.platform == "linux":
            return time.clock_gettime(~pid << 3 | _OF_PROCESS)  # no file is read, so no loop is held up
        times = psutil.Process(pid).cpu_times()
    except (OSError, psutil.Error):
        return 0.0
    return float(times.user + times.system)
