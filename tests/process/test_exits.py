from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from orchestrator.process.exits import Watch, watch_by_descriptor, watch_by_thread

WATCHES = [watch_by_descriptor, watch_by_thread]


def waiting_child() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)


@pytest.mark.parametrize("watch", WATCHES)
async def test_the_end_of_a_process_is_heard_once_it_was_reaped(watch: Watch) -> None:
    ended = asyncio.Event()
    with waiting_child() as process:
        unwatch = watch(process, ended.set)
        assert not ended.is_set()
        process.kill()
        await ended.wait()
        assert process.returncode == -9
        unwatch()


@pytest.mark.parametrize("watch", WATCHES)
async def test_an_ended_watch_hears_nothing(watch: Watch) -> None:
    heard = asyncio.Event()
    other = asyncio.Event()
    with waiting_child() as process:
        unwatch = watch(process, heard.set)
        watch_other = watch(process, other.set)
        unwatch()
        unwatch()
        process.kill()
        await other.wait()
        watch_other()
    assert not heard.is_set()
