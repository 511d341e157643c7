"""A pull that is killed again and again comes to its end, and fetches hardly anything twice."""

from __future__ import annotations

import asyncio
import hashlib
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.registry.hostile import Registry

KILLS = 6
SIZE = 96 << 20
PART_BYTES = 48 << 20
MOST = 1.1
"""Times the size that may be fetched in all."""


@contextmanager
def registry_in_a_thread(registry: Registry) -> Iterator[None]:
    """The registry answers while the block runs, whatever this thread waits for."""
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with registry.serving():
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(30)
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


def start(store: Path, name: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "tests.registry.pull_once", str(store), name, str(PART_BYTES)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


def killed_after(process: subprocess.Popen[str], completed: int) -> bool:
    """Kill the process once it tells of so many bytes; false if it came to its end before."""
    assert process.stdout is not None
    with process, process.stdout:
        for line in process.stdout:
            if line.startswith("pulling ") and int(line.rsplit(" ", 1)[1]) >= completed:
                process.send_signal(signal.SIGKILL)
                return True
    return False


@pytest.mark.parametrize("bytes_per_second", [24 << 20, 0], ids=["slow", "fast"])
def test_a_pull_survives_being_killed(tmp_path: Path, bytes_per_second: int) -> None:
    content = random.Random(5).randbytes(SIZE)
    registry = Registry()
    registry.bytes_per_second = bytes_per_second
    with registry_in_a_thread(registry):
        name = registry.add("ns/m", content)
        points = sorted(random.Random(7).randrange(SIZE) for _ in range(KILLS))
        for point in points:
            killed_after(start(tmp_path, name), point)
        with start(tmp_path, name) as process:
            output, _ = process.communicate(timeout=120)
    assert output.splitlines()[-1].startswith("success")
    blob = tmp_path / "blobs" / f"sha256-{hashlib.sha256(content).hexdigest()}"
    assert blob.read_bytes() == content
    assert not list(blob.parent.glob("*-partial*"))
    assert registry.sent_bytes <= MOST * SIZE
