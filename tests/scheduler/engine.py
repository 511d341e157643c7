"""An engine whose processes exist only in memory, so that a test says what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.chunks import Batches
from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.loads import LoadSpec
from orchestrator.runners.base import ChatCall, CompletionCall, Embedding, LoadOrder, MemoryUse, Ranking
from orchestrator.scheduler.effects import Reason

PLENTY = SystemMemory(total_bytes=2**40, free_bytes=2**40)


class PlentyOfMemory:
    """A machine that holds any model, and has no GPU."""

    def system(self) -> SystemMemory:
        return PLENTY

    def devices(self) -> tuple[Device, ...]:
        return ()


class ScriptedProcess:
    """One process. It lives until it is stopped or killed, and is deaf as long as the test wants."""

    def __init__(self, order: LoadOrder, pid: int) -> None:
        self.order = order
        self.pid = pid
        self.memory = MemoryUse(total_bytes=1000, vram_bytes=0)
        self.mmap_auto = True
        self.healthy = True
        self.may_stop = asyncio.Event()
        self.may_stop.set()
        self.stopping = asyncio.Event()
        self.gone = asyncio.Event()

    @property
    def spec(self) -> LoadSpec:
        return replace(self.order.spec, options=replace(self.order.spec.options, use_mmap=False))

    @property
    def has_ended(self) -> bool:
        return self.gone.is_set()

    def kill(self) -> None:
        """The process dies by itself."""
        self.gone.set()

    async def is_healthy(self) -> bool:
        return self.healthy

    async def exited(self) -> str:
        await self.gone.wait()
        return "killed by the test"

    async def stop(self) -> None:
        self.stopping.set()
        await self.may_stop.wait()
        self.gone.set()

    # the scheduler calls none of these

    def complete(self, call: CompletionCall) -> Batches:
        raise NotImplementedError

    def chat(self, call: ChatCall) -> Batches:
        raise NotImplementedError

    async def apply_template(self, call: ChatCall) -> str:
        raise NotImplementedError

    async def tokenize(self, text: str, *, add_special: bool = False) -> list[int]:
        raise NotImplementedError

    async def detokenize(self, tokens: Sequence[int]) -> str:
        raise NotImplementedError

    async def embed(self, text: str) -> Embedding:
        raise NotImplementedError

    async def rerank(self, query: str, documents: Sequence[str]) -> Ranking:
        raise NotImplementedError


@dataclass
class Load:
    """A start in progress; the test says how it ends."""

    order: LoadOrder
    outcome: asyncio.Future[ScriptedProcess | Exception]
    reaped: bool = False

    @property
    def name(self) -> str:
        return self.order.spec.files.name


class ScriptedEngine:
    """Starts processes at once, or when the test lets it (``held``)."""

    def __init__(self, *, held: bool = False) -> None:
        self.held = held
        self.loads: list[Load] = []
        self.processes: list[ScriptedProcess] = []
        self.asked = asyncio.Queue[Load]()

    async def load(self, order: LoadOrder) -> ScriptedProcess:
        load = Load(order, asyncio.get_running_loop().create_future())
        self.loads.append(load)
        self.asked.put_nowait(load)
        if not self.held:
            self.finish(load)
        try:
            outcome = await load.outcome
        except asyncio.CancelledError:
            load.reaped = True
            raise
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def finish(self, load: Load, error: Exception | None = None) -> None:
        """End a start, well or badly."""
        if error is not None:
            load.outcome.set_result(error)
            return
        process = ScriptedProcess(load.order, pid=1000 + len(self.processes))
        self.processes.append(process)
        load.outcome.set_result(process)

    @property
    def names(self) -> list[str]:
        """Models in the order of their starts."""
        return [load.name for load in self.loads]

    @property
    def alive(self) -> list[str]:
        """Models whose processes have not ended."""
        return sorted(p.order.spec.files.name for p in self.processes if not p.gone.is_set())


class Ears:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.loads: list[bool] = []
        self.left: list[Reason] = []
        self.waits: list[float] = []
        self.changed = asyncio.Event()
        self.heard = asyncio.Event()

    def load_ended(self, seconds: float, *, succeeded: bool) -> None:
        self.loads.append(succeeded)
        self.heard.set()

    def runner_left(self, reason: Reason) -> None:
        self.left.append(reason)
        self.changed.set()

    def waited(self, seconds: float) -> None:
        self.waits.append(seconds)
