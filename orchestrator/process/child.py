"""A child process as a value with a lifetime: it cannot outlive the block that started it, nor the daemon.

The child runs in a process group of its own. The group's leader is the *warden*, a tiny shell that waits
for the end of a pipe whose other end only the daemon holds. When the daemon dies, however it dies, the
kernel closes the pipe, and the warden kills the whole group: the child, whatever the child has started, and
itself. Because the warden is there before the child is, there is no moment without a guard; because it
leads the group, the group's number cannot be given to strangers while it lives. A warden that dies takes the
child with it: a new one would come too late for a daemon that dies in between. The child's own stdin is a
second such pipe, for programs that would rather leave by themselves.

A parent-death signal (``PR_SET_PDEATHSIG``) would reach the child only, not its children, exists on Linux
alone, follows the thread that forked rather than the process, and needs code between fork and exec.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from orchestrator.process.cleanup import to_the_end
from orchestrator.process.exits import watch_exit
from orchestrator.process.output import LineSplitter, Tail

logger = logging.getLogger(__name__)

DEFAULT_GRACE = timedelta(seconds=5)

_READ_BYTES = 64 * 1024
_DRAIN_READS = 16
"""Pieces that are read at most after the end: 1 MiB, the most an ordinary user's pipe can hold."""
_WARDEN = ("/bin/sh", "-c", "trap '' HUP INT TERM; read -r _; kill -KILL 0")


class Child:
    """A running child. Made and ended by ``child_process``."""

    def __init__(self, process: subprocess.Popen[bytes], group: int, output: _Output) -> None:
        self.pid = process.pid
        self.name = output.name
        self._process = process
        self._group: int | None = group
        self._is_killed = False
        self._output = output
        self._gone = asyncio.Event()

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; ``None`` while the child lives."""
        return self._process.returncode

    @property
    def has_ended(self) -> bool:
        """The child is gone and its output has been read."""
        return self._gone.is_set()

    @property
    def last_words(self) -> str:
        """The last 8 KiB of what the child wrote; complete once ``wait`` has returned."""
        return self._output.tail.text

    def output_may_wait(self, delay: timedelta) -> None:
        """From now on, what the child writes is read up to ``delay`` later, and more of it at once."""
        self._output.delay_s = delay.total_seconds()

    def catch_up(self) -> None:
        """Read now what the child has written so far."""
        self._output.catch_up()

    async def wait(self) -> int:
        """Wait until the child has ended and its output has been read; its exit status."""
        await self._gone.wait()
        assert self._process.returncode is not None
        return self._process.returncode

    def pause(self) -> None:
        """Hold the child up, but not what it has started, until ``resume``. Too late does no harm."""
        self._signal_alone(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the child go on. Too late, or for nothing, does no harm."""
        self._signal_alone(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask the child, and whatever it has started, to leave. Asking again, or too late, does no harm."""
        self._signal(signal.SIGTERM)
        self.resume()  # who is held up does not hear

    def kill(self) -> None:
        """End the child, and whatever it has started, without asking; the warden goes with them."""
        self._is_killed = True
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._group is not None:
            _signal_group(self._group, number)

    def _signal_alone(self, number: signal.Signals) -> None:
        if self._process.returncode is None:  # not reaped: the number is still its own
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _forget_group(self) -> None:
        """The group's number may be given to strangers from now on."""
        self._group = None

    def _unguarded(self) -> None:
        """The warden is dead, and has been reaped."""
        if not self._is_killed:
            logger.warning("the guard of a child was killed, so the child goes", extra={"runner": self.name})
            self.kill()
        self._forget_group()

    def _ended(self) -> None:
        self._output.drain()
        self._gone.set()


class _Output:
    """Reads stdout and stderr of a child from one pipe, as they come."""

    def __init__(
        self, process: subprocess.Popen[bytes], name: str, on_line: Callable[[str], None] | None
    ) -> None:
        assert process.stdout is not None
        self.tail = Tail()
        self._descriptor = process.stdout.fileno()
        self.name = name
        self.delay_s = 0.0
        """How long what has come may wait; it is as much time for more to come."""
        self._on_line = on_line
        self._splitter = LineSplitter()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        os.set_blocking(self._descriptor, False)
        self._loop.add_reader(self._descriptor, self._readable)

    def catch_up(self) -> None:
        """Read what is in the pipe; no more than it can hold, for somebody may still be writing."""
        for _ in range(_DRAIN_READS):
            if self._closed or not self._read():
                break

    def drain(self) -> None:
        """Read what is left in the pipe; the last line need not have an end."""
        self.catch_up()
        self._take(self._splitter.close())

    def close(self) -> None:
        """Read what is left and stop reading."""
        self.drain()
        self._closed = True  # the descriptor may soon be another's
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._descriptor)

    def _readable(self) -> None:
        if not self.delay_s:
            self._read()
            return
        self._loop.remove_reader(self._descriptor)
        self._timer = self._loop.call_later(self.delay_s, self._read_on)

    def _read_on(self) -> None:
        self._timer = None
        self._loop.add_reader(self._descriptor, self._readable)
        self._read()

    def _read(self) -> bool:
        """Take one piece of output; whether there was any."""
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._descriptor)
            return False
        self.tail.feed(data)
        self._take(self._splitter.feed(data))
        return True

    def _take(self, lines: Sequence[str]) -> None:
        for line in lines:
            logger.debug("%s", line, extra={"runner": self.name})
            if self._on_line is not None:
                self._on_line(line)


@asynccontextmanager
async def child_process(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    name: str,
    grace: timedelta = DEFAULT_GRACE,
    on_line: Callable[[str], None] | None = None,
) -> AsyncIterator[Child]:
    """Run ``argv`` as a child; on leaving, it and everything in its process group is gone and reaped.

    Output goes line by line to the log, under ``name``, and to ``on_line``. Leaving asks politely, waits up
    to ``grace`` and kills; a second cancellation does not cut that short. Raises ``OSError`` when the program
    cannot be started.
    """
    with (
        _warden() as warden,
        _spawned(argv, env, cwd, warden.pid) as process,
        closing(_Output(process, name, on_line)) as output,
    ):
        child = Child(process, warden.pid, output)
        with _watched(process, child._ended), _watched(warden, child._unguarded):
            try:
                yield child
            finally:
                await to_the_end(_dismiss(child, grace))


async def _dismiss(child: Child, grace: timedelta) -> None:
    try:
        async with asyncio.timeout(grace.total_seconds()):
            child.terminate()
            await child.wait()
    except TimeoutError:
        logger.warning(
            "child did not leave when asked, killing it", extra={"runner": child.name, "pid": child.pid}
        )
    finally:
        child.kill()
    await child.wait()
    child._forget_group()


@contextmanager
def _warden() -> Iterator[subprocess.Popen[bytes]]:
    """The guard of a new process group, which has its number. On leaving, the group has been killed."""
    warden = subprocess.Popen(
        _WARDEN,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        process_group=0,
    )
    try:
        yield warden
    finally:
        if warden.returncode is None:  # not reaped: the number is still the group's
            _signal_group(warden.pid, signal.SIGKILL)
        warden.communicate()  # closes the pipe and reaps; a killed shell is gone at once


@contextmanager
def _spawned(
    argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None, group: int
) -> Iterator[subprocess.Popen[bytes]]:
    """``argv``, started in ``group`` with pipes. On leaving, our ends of the pipes are closed."""
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        env=None if env is None else dict(env),
        cwd=cwd,
        process_group=group,
    )
    try:
        yield process
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def _watched(process: subprocess.Popen[bytes], ended: Callable[[], None]) -> Iterator[None]:
    unwatch = watch_exit(process, ended)
    try:
        yield
    finally:
        unwatch()


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # all gone; macOS: all gone but not reaped
        os.killpg(group, number)
