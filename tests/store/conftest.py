"""Stores for tests, and file systems that refuse."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store.layout import StoreLayout


@pytest.fixture
def layout(tmp_path: Path) -> StoreLayout:
    """An empty store."""
    return StoreLayout(tmp_path / "models")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory on a disk of 256 KiB; needs the right to mount."""
    path = tmp_path / "disk"
    path.mkdir()
    _mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(path))
    yield path
    subprocess.run(["umount", path], check=True)


@pytest.fixture
def read_only_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory nothing can be written to: by its mode, or for the superuser by a mount."""
    path = tmp_path / "disk"
    path.mkdir()
    if os.geteuid() != 0:
        path.chmod(0o555)
        yield path
        path.chmod(0o755)
        return
    _mount("-t", "tmpfs", "-o", "ro", "tmpfs", str(path))
    yield path
    subprocess.run(["umount", path], check=True)


def _mount(*arguments: str) -> None:
    if subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
        pytest.skip("this user cannot mount")
