from __future__ import annotations

import os
from pathlib import Path

from orchestrator.discovery.cgroup import ControlGroups
from orchestrator.discovery.cpu import usable_cores


def test_there_is_at_least_one_core_and_no_more_than_the_machine_has(tmp_path: Path) -> None:
    assert 1 <= usable_cores(ControlGroups(tmp_path)) <= (os.cpu_count() or 1)


def test_a_quota_bounds_the_cores(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("100000 100000\n")
    assert usable_cores(ControlGroups(tmp_path)) == 1
