"""A running engine process: started, watched while it loads, ended and cleaned up after.

Whoever starts one ends it: by ``stop``, or by awaiting ``exited`` after it has died.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from orchestrator.errors import RunnerFailed, words_of
from orchestrator.process.address import Address, RunDirectory
from orchestrator.process.child import Child, child_process
from orchestrator.process.cleanup import to_the_end
from orchestrator.process.usage import cpu_s
from orchestrator.runners.last_words import LastLines
from orchestrator.runners.lifecycle import Exited, Healthy, Starting, State, StopAsked, Stopped, step
from orchestrator.runners.llama.health import Health
from orchestrator.runners.llama.log_reader import ErrorLines, SizeLines
from orchestrator.runners.out_of_memory import is_fatal

logger = logging.getLogger(__name__)

_FIRST_POLL = timedelta(milliseconds=5)
_LAST_POLL = timedelta(milliseconds=100)
_PATIENCE_WITH_LOG = timedelta(milliseconds=50)
"""An engine at work writes several times for each request; whoever waits for the answer goes first."""
_SAYS_IT_LISTENS = "listening on"

HealthCheck = Callable[[], Awaitable[Health]]


@dataclass(slots=True)
class EngineLog:
    """What is read from the engine's output as it comes."""

    errors: ErrorLines = field(default_factory=ErrorLines)
    sizes: SizeLines = field(default_factory=SizeLines)
    latest: LastLines = field(default_factory=LastLines)
    last_activity: float = 0.0
    """Time of the monotonic clock at the last line, or other sign of life."""
    listens: asyncio.Event = field(default_factory=asyncio.Event)
    could_not_bind: bool = False

    def feed(self, line: str) -> None:
        """Read one line."""
        self.touch()
        self.errors.feed(line)
        self.sizes.feed(line)
        self.latest.feed(line)
        if _SAYS_IT_LISTENS in line:
            self.listens.set()
        elif "couldn't bind HTTP server socket" in line:
            self.could_not_bind = True

    def touch(self) -> None:
        """Note that the engine does something."""
        self.last_activity = time.monotonic()


class EngineProcess:
    """One engine process and everything that must go with it. Made by ``start``."""

    def __init__(self, child: Child, log: EngineLog, address: Address, cleanup: AsyncExitStack) -> None:
        self.address = address
        self._log = log
        self._child = child
        self._cleanup = cleanup
        self._state: State = Starting(child.pid)

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        name: str,
        address: Address,
        run: RunDirectory,
        links: Mapping[Path, Path] | None = None,
    ) -> EngineProcess:
        """Start a process that will listen at ``address``. Raises ``RunnerFailed`` if it cannot be."""
        log = EngineLog()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.to_thread, run.release, address)
            for link, target in (links or {}).items():
                await asyncio.to_thread(link.symlink_to, target)
                stack.push_async_callback(asyncio.to_thread, link.unlink, missing_ok=True)
            log.touch()
            process = child_process(argv, env=env, cwd=cwd, name=name, on_line=log.feed)
            try:
                child = await stack.enter_async_context(process)
            except OSError as error:
                raise RunnerFailed(f"error starting llama-server: {words_of(error)}") from error
            cleanup = stack.pop_all()
        return cls(child, log, address, cleanup)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def log(self) -> EngineLog:
        """What the engine has written so far."""
        self._child.catch_up()
        return self._log

    @property
    def state(self) -> State:
        """Where it stands; a death is noticed at once."""
        if self._child.has_ended and self._child.returncode is not None:
            status = self._child.returncode
            self._state = step(self._state, Exited(status, self._last_words(status)))
        return self._state

    def _last_words(self, status: int) -> str:
        """The error lines of the log; without any, the end of the output, if that may tell why."""
        log = self.log
        if errors := log.errors.text:
            return errors
        from_outside = status in (-signal.SIGKILL, -signal.SIGTERM)
        failed_by_itself = isinstance(self._state, Starting) and not from_outside
        return log.latest.words if failed_by_itself else log.latest.complaint

    def pause(self) -> None:
        """Hold the process up in whatever it does, until ``resume``."""
        self._child.pause()

    def resume(self) -> None:
        """Let it go on."""
        self._child.resume()

    def cpu_s(self) -> float:
        """The processor time that the process has used, in seconds; 0 when it is gone."""
        return cpu_s(self._child.pid)

    async def wait_until_healthy(self, check: HealthCheck, *, stall_timeout: timedelta | None) -> None:
        """Wait until the engine may serve.

        Any output counts as progress; without it for ``stall_timeout`` the start has failed. Raises
        ``RunnerFailed`` with the engine's own words.
        """
        poll = _FIRST_POLL
        seen_loading = False
        while True:
            health = await check()
            if isinstance(state := self.state, Stopped):
                await self.exited()
                raise self._terminated(state)
            if health is Health.READY:
                self._state = step(state, Healthy())
                self.log.errors.clear()
                self._child.output_may_wait(_PATIENCE_WITH_LOG)
                return
            if health is Health.LOADING and not seen_loading:
                seen_loading = True
                self._log.touch()
            self._give_up_if_hopeless(health, stall_timeout)
            await self._something_happened(poll)
            poll = min(poll * 3 / 2, _LAST_POLL)

    async def exited(self) -> str:
        """Wait until the process is gone and cleaned up after; its last words."""
        await self._child.wait()
        state = self.state
        await to_the_end(self._cleanup.aclose())
        assert isinstance(state, Stopped)
        return state.cause

    async def stop(self) -> None:
        """End the process; it has been reaped when this returns. Asking again does nothing."""
        self._state = step(self.state, StopAsked())
        if not isinstance(self._state, Stopped):
            # no state to save, and nothing frees memory sooner
            self._child.kill()
        await to_the_end(self.exited())

    async def died_within(self, patience: timedelta) -> bool:
        """Whether the process is dead; a death that is just happening is waited for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience.total_seconds()):
                await self._child.wait()
        return isinstance(self.state, Stopped)

    def _give_up_if_hopeless(self, health: Health, stall_timeout: timedelta | None) -> None:
        errors = self.log.errors.text
        if health is Health.ERROR and is_fatal(errors):
            message = f"llama-server reported out-of-memory during startup: {errors}"
            raise RunnerFailed(message, out_of_memory=True)
        idle = time.monotonic() - self._log.last_activity
        if stall_timeout is not None and idle > stall_timeout.total_seconds():
            raise RunnerFailed(f"timed out waiting for llama-server to start - {errors}")

    async def _something_happened(self, at_most: timedelta) -> None:
        """Wait for the death of the process, its word that it listens, or ``at_most``."""
        waits = [asyncio.ensure_future(self._child.wait())]
        if not self._log.listens.is_set():
            waits.append(asyncio.ensure_future(self._listens()))
        try:
            await asyncio.wait(waits, timeout=at_most.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.wait(waits)

    async def _listens(self) -> int:
        await self._log.listens.wait()
        return 0

    def _terminated(self, stopped: Stopped) -> RunnerFailed:
        return RunnerFailed(
            f"llama-server process has terminated: {stopped.cause}",
            out_of_memory=bool(self.log.errors.out_of_memory_line),
        )
