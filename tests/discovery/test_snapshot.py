from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.discovery.cgroup import ControlGroups, GroupMemory
from orchestrator.discovery.snapshot import system_memory, within
from orchestrator.domain.devices import SystemMemory

HOST = SystemMemory(total_bytes=100, free_bytes=60, swap_free_bytes=5)


@pytest.mark.parametrize(
    ("groups", "total", "free"),
    [
        ([], 100, 60),
        ([GroupMemory(50, 10)], 50, 40),
        ([GroupMemory(50, 60)], 50, 0),
        ([GroupMemory(200, 10)], 100, 60),
        ([GroupMemory(80, 10), GroupMemory(90, 75)], 80, 15),
    ],
)
def test_the_tightest_limit_counts(groups: list[GroupMemory], total: int, free: int) -> None:
    assert within(HOST, groups) == SystemMemory(total, free, 5)


def test_this_machine_has_memory(tmp_path: Path) -> None:
    memory = system_memory(ControlGroups(tmp_path))
    assert 0 < memory.free_bytes <= memory.total_bytes
