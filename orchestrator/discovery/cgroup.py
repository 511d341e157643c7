"""The control groups this process is in, and the limits they set.

Version 2 has one hierarchy for everything, version 1 one per controller. The limit of a group above ours
holds too.

Source: ``discovery-build`` §5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT = 1 << 60
"""Version 1 writes "no limit" as a number near the largest."""


@dataclass(frozen=True, slots=True)
class GroupMemory:
    """Memory of one group, in bytes."""

    limit_bytes: int
    used_bytes: int
    """Without file caches that can be dropped."""


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """Reads the groups of this process; ``root`` stands for ``/`` in tests."""

    root: Path = Path("/")

    def memory(self) -> tuple[GroupMemory, ...]:
        """The groups with a limit on memory, ours first."""
        v2 = (
            _memory(folder, limit="memory.max", used="memory.current", cache="inactive_file")
            for folder in self._folders("")
        )
        v1 = (
            _memory(
                folder,
                limit="memory.limit_in_bytes",
                used="memory.usage_in_bytes",
                cache="total_inactive_file",
            )
            for folder in self._folders("memory")
        )
        return tuple(group for group in (*v2, *v1) if group is not None)

    def cpu_quota(self) -> int | None:
        """Whole processors the tightest quota allows; ``None`` without one."""
        quotas = [_ratio(_words(folder / "cpu.max")) for folder in self._folders("")]
        quotas += [
            _ratio(_words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us"))
            for folder in self._folders("cpu")
        ]
        return min((math.ceil(quota) for quota in quotas if quota is not None), default=None)

    def _folders(self, controller: str) -> Iterator[Path]:
        """The folders of our group and those above it; ``""`` is version 2."""
        mount = self.root / "sys/fs/cgroup" / controller
        relative = self._paths().get(controller, "/").strip("/")
        folder = mount / relative
        if not folder.is_dir():
            folder = mount  # a namespace of its own: the path is one of the host's
        while True:
            yield folder
            if folder == mount:
                return
            folder = folder.parent

    def _paths(self) -> dict[str, str]:
        """Path of our group by controller."""
        paths: dict[str, str] = {}
        for line in _text(self.root / "proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            paths |= dict.fromkeys(controllers.split(","), path)
        return paths


def _memory(folder: Path, *, limit: str, used: str, cache: str) -> GroupMemory | None:
    limit_bytes = _number(_text(folder / limit))
    if limit_bytes is None or limit_bytes >= _NO_LIMIT:
        return None
    in_use = _number(_text(folder / used)) or 0
    statistics = dict(
        line.split(" ", 1) for line in _text(folder / "memory.stat").splitlines() if " " in line
    )
    reclaimable = _number(statistics.get(cache, "")) or 0
    return GroupMemory(limit_bytes, max(in_use - reclaimable, 0))


def _ratio(words: list[str]) -> float | None:
    """Quota and period as processors; no quota is ``max`` or -1."""
    numbers = [_number(word) for word in words[:2]]
    match numbers:
        case [int(quota), int(period)] if quota > 0 and period > 0:
            return quota / period
        case _:
            return None


def _words(file: Path) -> list[str]:
    return _text(file).split()


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
