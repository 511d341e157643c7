from __future__ import annotations

import os
from pathlib import Path

import psutil

from orchestrator.discovery.cgroup import ControlGroups
from orchestrator.discovery.cpu import thread_limit, usable_cores


def test_there_is_at_least_one_core_and_no_more_than_the_machine_has(tmp_path: Path) -> None:
    assert 1 <= usable_cores(ControlGroups(tmp_path)) <= (os.cpu_count() or 1)


def test_a_quota_bounds_the_cores(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("100000 100000\n")
    groups = ControlGroups(tmp_path)
    assert usable_cores(groups) == 1
    assert thread_limit(groups) == (1 if (psutil.cpu_count(logical=False) or 1) > 1 else None)


def test_an_engine_that_may_use_all_cores_counts_them_itself(tmp_path: Path) -> None:
    groups = ControlGroups(tmp_path)
    if usable_cores(groups) == psutil.cpu_count(logical=False):
        assert thread_limit(groups) is None
