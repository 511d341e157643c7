"""What every test is held to: records to run on, nothing leaked, no blocking of the event loop."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import uvloop
from blockbuster import blockbuster_ctx
from hypothesis import settings

from tests.golden_records import FOLDER, folders

settings.register_profile("orch", deadline=None, max_examples=60)
settings.load_profile("orch")

_PROC = Path("/proc/self")


def pytest_sessionstart() -> None:
    """Refuse to run without any records: the tests that read them would all be skipped."""
    if not folders():
        raise pytest.UsageError(f"no folders of recorded cases in {FOLDER}; is ORCH_GOLDEN right?")
    uvloop.run(asyncio.sleep(0))  # its first loop opens descriptors that stay with the process


@pytest.fixture(autouse=True, scope="session")
def event_loop_is_not_blocked() -> Iterator[None]:
    """Fail a call that blocks the event loop, when it comes from our code."""
    with blockbuster_ctx("orchestrator") as detector:
        # starting a program waits until it has been replaced by exec; asyncio's own way does the same
        detector.functions["os.read"].can_block_in("subprocess.py", {"_execute_child"})
        # one look at a manifest, for every request: a thread would cost ten times as much
        detector.functions["os.stat"].can_block_in("store/models.py", {"_stamp"})
        for function in detector.functions.values():  # the prompt's loop has nothing else to do than to wait
            function.can_block_in("cli/editor.py", {"read"})
        yield


@pytest.fixture(autouse=True)
def nothing_is_leaked() -> Iterator[None]:
    """Fail a test after which more descriptors are open, or more child processes live, than before."""
    descriptors, children = _open_descriptors(), _children()
    yield
    if _open_descriptors().keys() - descriptors.keys():
        gc.collect()  # what only a reference cycle keeps open is closed by the collector
    leaked = {number: name for number, name in _open_descriptors().items() if number not in descriptors}
    assert not leaked, f"descriptors left open: {leaked}"
    left = _children() - children
    assert not left, f"child processes left: {left}"


def _open_descriptors() -> dict[str, str]:
    """Numbers of the open descriptors, and what they lead to."""
    descriptors = {}
    for entry in (_PROC / "fd").glob("*"):
        with suppress(FileNotFoundError):  # the one that reads the directory
            descriptors[entry.name] = str(entry.readlink())
    return descriptors


def _children() -> set[int]:
    """Process ids of the living or unreaped children."""
    if not (_PROC / "task").exists():
        return {child.pid for child in psutil.Process().children()}
    children: set[int] = set()
    for thread in (_PROC / "task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            children.update(map(int, thread.read_text().split()))
    return children
