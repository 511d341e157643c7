"""What is shown of a runner at one moment."""

from __future__ import annotations

from orchestrator.scheduler.views import RunnerState, RunnerView
from orchestrator.scheduler.world import Loading, Ready, RunnerRecord, Stopping


def runner_view(
    runner: RunnerRecord, *, pid: int | None, waiting: int, now: int, epoch_ns: int
) -> RunnerView:
    """The view of ``runner``. ``epoch_ns`` is what the wall clock is ahead of the clock of ``now``."""
    match runner:
        case Loading(order=order):
            return RunnerView(
                spec=order.spec,
                state=RunnerState.LOADING,
                expires_ns=now + runner.keep_alive_ns + epoch_ns,
                waiting=waiting,
                slots=order.parallel,
            )
        case Stopping(spec=spec, memory=memory):
            return RunnerView(
                spec=spec,
                state=RunnerState.STOPPING,
                total_bytes=memory.total_bytes,
                vram_bytes=memory.vram_bytes,
                waiting=waiting,
                pid=pid,
            )
        case Ready():
            idle_since = now if runner.leases else runner.last_used
            return RunnerView(
                spec=runner.spec,
                state=RunnerState.DRAINING if runner.is_draining else RunnerState.READY,
                total_bytes=runner.memory.total_bytes,
                vram_bytes=runner.memory.vram_bytes,
                expires_ns=idle_since + runner.keep_alive_ns + epoch_ns,
                active=runner.leases,
                waiting=waiting,
                slots=runner.order.parallel,
                pid=pid,
                load_ns=runner.load_ns,
            )
