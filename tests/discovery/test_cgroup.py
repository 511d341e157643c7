from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.discovery.cgroup import ControlGroups, GroupMemory

GIB = 1 << 30


class Root:
    """A pretended ``/``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.groups = ControlGroups(path)

    def write(self, file: str, text: str) -> None:
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def v2(self, group: str, **files: str) -> None:
        for name, text in files.items():
            self.write(f"sys/fs/cgroup/{group}/{name.replace('_', '.', 1)}", text)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


def test_without_groups_there_are_no_limits(root: Root) -> None:
    assert root.groups.memory() == ()
    assert root.groups.cpu_quota() is None


def test_limits_of_our_group_and_those_above_count(root: Root) -> None:
    root.write("proc/self/cgroup", "0::/system.slice/orch.service\n")
    root.v2("system.slice/orch.service", memory_max=f"{8 * GIB}\n", memory_current=f"{3 * GIB}\n")
    root.v2("system.slice/orch.service", memory_stat=f"anon 5\ninactive_file {GIB}\n")
    root.v2("system.slice", memory_max="max\n", memory_current="7\n", cpu_max="max 100000\n")
    root.v2("", memory_max=f"{6 * GIB}\n", memory_current="1\n", cpu_max="150000 100000\n")
    assert root.groups.memory() == (GroupMemory(8 * GIB, 2 * GIB), GroupMemory(6 * GIB, 1))
    assert root.groups.cpu_quota() == 2


def test_a_group_of_the_host_is_looked_for_where_the_namespace_begins(root: Root) -> None:
    root.write("proc/self/cgroup", "0::/docker/abc\n")
    root.v2("", memory_max=f"{GIB}\n", memory_current="0\n", cpu_max="50000 100000\n")
    assert root.groups.memory() == (GroupMemory(GIB, 0),)
    assert root.groups.cpu_quota() == 1


def test_version_1_has_a_tree_for_each_controller(root: Root) -> None:
    root.write("proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/job\n")
    root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", f"{4 * GIB}")
    root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", f"{2 * GIB}")
    root.write("sys/fs/cgroup/memory/job/memory.stat", f"total_inactive_file {GIB}\n")
    root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1")
    root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000")
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "310000")
    root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
    assert root.groups.memory() == (GroupMemory(4 * GIB, GIB),)
    assert root.groups.cpu_quota() == 4


@pytest.mark.parametrize("text", ["", "nonsense\n", "0 0\n", "max\n"])
def test_odd_files_set_no_limit(root: Root, text: str) -> None:
    root.v2("", memory_max=text, memory_current=text, cpu_max=text)
    assert root.groups.cpu_quota() is None
    assert root.groups.memory() in ((), (GroupMemory(0, 0),))
