from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.process.child import Child, child_process

SHORT = timedelta(milliseconds=50)
LONG = timedelta(seconds=30)

WAITS = "import signal; print('up', flush=True); signal.pause()"
DEAF = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""


def python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program, *arguments]


class Lines:
    """The lines of a child, to be waited for."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._came = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.seen.append(line)
        self._came.set()

    async def reach(self, count: int) -> list[str]:
        while len(self.seen) < count:
            self._came.clear()
            await self._came.wait()
        return self.seen


@pytest.fixture
def lines() -> Lines:
    return Lines()


async def test_a_child_that_is_asked_leaves(lines: Lines) -> None:
    async with child_process(python(WAITS), name="owl", grace=LONG, on_line=lines) as child:
        await lines.reach(1)
        assert child.returncode is None
    assert child.returncode == -signal.SIGTERM


async def test_a_child_deaf_to_sigterm_is_killed(lines: Lines) -> None:
    async with child_process(python(DEAF), name="owl", grace=SHORT, on_line=lines) as child:
        await lines.reach(1)
    assert child.returncode == -signal.SIGKILL


ECHO = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"


def tell(child: Child, text: bytes) -> None:
    """Write to the child's stdin."""
    stdin = child._process.stdin
    assert stdin is not None
    os.write(stdin.fileno(), text)


async def test_output_that_may_wait_comes_all_the_same(lines: Lines) -> None:
    async with child_process(python(ECHO), name="owl", on_line=lines) as child:
        child.output_may_wait(timedelta(milliseconds=1))
        for count, word in enumerate((b"one\n", b"two\n"), start=1):
            tell(child, word)
            await lines.reach(count)
    assert lines.seen == ["one", "two"]


async def test_output_that_waits_can_be_read_at_once(lines: Lines) -> None:
    async with child_process(python(ECHO), name="owl", on_line=lines) as child:
        child.output_may_wait(LONG)
        tell(child, b"one\ntwo\n")
        while lines.seen != ["one", "two"]:
            await asyncio.sleep(0)
            child.catch_up()
    child.catch_up()  # too late, and no harm


async def test_a_child_is_held_up_until_it_may_go_on(lines: Lines) -> None:
    async with child_process(python(WAITS), name="owl", grace=LONG, on_line=lines) as child:
        await lines.reach(1)
        child.pause()
        await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        child.resume()
        await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WCONTINUED | os.WNOWAIT)
    assert child.returncode == -signal.SIGTERM
    child.pause()
    child.resume()


async def test_a_child_that_is_held_up_hears_that_it_shall_leave(lines: Lines) -> None:
    async with child_process(python(WAITS), name="owl", grace=LONG, on_line=lines) as child:
        await lines.reach(1)
        child.pause()
        await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert child.returncode == -signal.SIGTERM


async def test_a_child_that_dies_at_once_leaves_status_and_last_words() -> None:
    async with child_process(python("import sys; sys.exit('no such model')"), name="owl") as child:
        assert await child.wait() == 1
        assert child.last_words == "no such model\n"
        assert await child.wait() == 1


async def test_a_program_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with child_process(["/nowhere/llama-server"], name="owl"):
            pass


async def test_both_streams_are_read_line_by_line_and_logged(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    program = "import os; os.write(1, b'one\\n'); os.write(2, b'tw\\xe2\\x82\\xac\\nrest')"
    with caplog.at_level(logging.DEBUG, "orchestrator.process.child"):
        async with child_process(python(program), name="owl", on_line=lines) as child:
            await child.wait()
            assert lines.seen == ["one", "tw€", "rest"]
    assert [(record.getMessage(), record.__dict__["runner"]) for record in caplog.records] == [
        ("one", "owl"),
        ("tw€", "owl"),
        ("rest", "owl"),
    ]


async def test_a_flood_of_output_neither_blocks_nor_grows(lines: Lines) -> None:
    program = "import os\nfor n in range(400): os.write(1, b'x' * 9999 + b'\\n')\nos.write(1, b'end\\n')"
    async with child_process(python(program), name="owl", on_line=lines) as child:
        assert await child.wait() == 0
    assert len(lines.seen) == 401
    assert child.last_words.endswith("x\nend\n")
    assert len(child.last_words) == 8192


async def test_environment_and_directory_are_the_callers(tmp_path: Path, lines: Lines) -> None:
    program = "import os; print(dict(os.environ)); print(os.getcwd())"
    argv = python(program)
    async with child_process(argv, env={"OWL": "1"}, cwd=tmp_path, name="owl", on_line=lines) as child:
        await child.wait()
    assert "'OWL': '1'" in lines.seen[0]
    assert "HOME" not in lines.seen[0]
    assert lines.seen[1] == str(tmp_path)


async def test_stdin_stays_open_while_the_child_is_wanted(lines: Lines) -> None:
    program = "import sys; print('up', flush=True); sys.stdin.read(); print('closed', flush=True)"
    async with child_process(python(program), name="owl", on_line=lines) as child:
        assert await lines.reach(1) == ["up"]
        assert child.returncode is None
    assert child.returncode == -signal.SIGTERM


async def test_an_error_in_the_block_ends_the_child_and_comes_out(lines: Lines) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with child_process(python(WAITS), name="owl", grace=LONG, on_line=lines) as child:
            raise LookupError("mine")
    assert child.returncode == -signal.SIGTERM


async def test_a_second_cancellation_does_not_leave_the_child_behind(lines: Lines) -> None:
    children: list[Child] = []

    async def run() -> None:
        async with child_process(python(DEAF), name="owl", grace=SHORT, on_line=lines) as child:
            children.append(child)
            await child.wait()

    task = asyncio.create_task(run())
    await lines.reach(1)
    task.cancel()
    await asyncio.wait([task], timeout=0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children[0].returncode == -signal.SIGKILL


async def test_several_wait_and_one_of_them_may_give_up(lines: Lines) -> None:
    async with child_process(python(WAITS), name="owl", grace=LONG, on_line=lines) as child:
        await lines.reach(1)
        impatient, patient = asyncio.create_task(child.wait()), asyncio.create_task(child.wait())
        await asyncio.wait([impatient], timeout=0)
        impatient.cancel()
        child.terminate()
        assert await patient == -signal.SIGTERM
        child.terminate()


GRANDPARENT = """
import subprocess, sys
inner = "import signal; signal.signal(15, signal.SIG_IGN); print('inner up', flush=True); signal.pause()"
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", inner])
print(child.pid, flush=True)
{}
"""


async def test_a_child_can_be_ended_without_asking(lines: Lines) -> None:
    async with child_process(python(DEAF), name="owl", grace=LONG, on_line=lines) as child:
        await lines.reach(1)
        child.kill()
        assert await child.wait() == -signal.SIGKILL


async def test_a_signal_that_comes_too_late_reaches_nobody() -> None:
    async with child_process(python(""), name="owl") as child:
        await child.wait()
    child.terminate()
    child.kill()
    assert child.returncode == 0


def warden_of(child: Child) -> int:
    """The leader of the child's group."""
    return os.getpgid(child.pid)


async def test_a_child_whose_guard_is_killed_goes_too(lines: Lines, caplog: pytest.LogCaptureFixture) -> None:
    async with child_process(python(DEAF), name="owl", grace=LONG, on_line=lines) as child:
        await lines.reach(1)
        os.kill(warden_of(child), signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        child.terminate()  # reaches nobody
    assert "the guard of a child was killed" in caplog.text


async def test_a_guard_that_goes_with_its_child_is_not_missed(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    async with child_process(python(DEAF), name="owl", grace=LONG, on_line=lines) as child:
        await lines.reach(1)
        child.kill()
        await child.wait()
        while child._group is not None:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0)
    assert "guard" not in caplog.text


async def test_what_a_child_started_goes_with_it(lines: Lines) -> None:
    program = GRANDPARENT.format("child.wait()")
    async with child_process(python(program), name="owl", grace=LONG, on_line=lines):
        grandchild = int(next(line for line in await lines.reach(2) if line.isdigit()))
        exit_of = os.pidfd_open(grandchild)
    await gone(exit_of)


async def test_what_a_dead_child_started_does_not_stay(lines: Lines) -> None:
    async with child_process(python(GRANDPARENT.format("")), name="owl", on_line=lines) as child:
        grandchild = int(next(line for line in await lines.reach(2) if line.isdigit()))
        exit_of = os.pidfd_open(grandchild)
        assert await child.wait() == 0
    await gone(exit_of)


DAEMON = """
import asyncio, signal, sys
from datetime import timedelta
from orchestrator.process.child import child_process

async def main():
    argv = [sys.executable, "-I", "-S", "-c", sys.argv[1]]
    on_line = lambda line: print(line, flush=True)
    async with child_process(argv, name="owl", on_line=on_line) as child:
        print(child.pid, flush=True)
        await child.wait()

if sys.argv[2] == "uvloop":
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_killed_daemon_leaves_neither_child_nor_grandchild(loop: str) -> None:
    program = GRANDPARENT.format("child.wait()")
    daemon = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DAEMON, program, loop, stdout=subprocess.PIPE
    )
    assert daemon.stdout is not None
    words = [(await daemon.stdout.readline()).decode().strip() for _ in range(3)]
    exits = [os.pidfd_open(int(word)) for word in words if word.isdigit()]
    assert len(exits) == 2
    daemon.kill()
    await daemon.wait()
    for exit_of in exits:
        await gone(exit_of)


async def gone(exit_of: int) -> None:
    """Wait until the process behind a pidfd has ended."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(exit_of, ended.set)
    try:
        async with asyncio.timeout(10):
            await ended.wait()
    finally:
        loop.remove_reader(exit_of)
        os.close(exit_of)
