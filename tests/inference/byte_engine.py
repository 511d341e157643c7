"""An engine in memory for whole requests: it starts processes whose tokens are bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from orchestrator.domain.loads import LoadSpec
from orchestrator.inference.prepare import Defaults
from orchestrator.inference.service import Inference
from orchestrator.runners.base import LoadOrder, MemoryUse
from orchestrator.scheduler.loop import Scheduler
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Layer, MediaType
from tests.inference.byte_runner import END, ByteRunner
from tests.scheduler.engine import PlentyOfMemory


class ByteProcess(ByteRunner):
    """A process that answers from a script."""

    pid = 1
    memory = MemoryUse()
    mmap_auto = True
    has_ended = False

    def __init__(self, order: LoadOrder, reply: Sequence[str]) -> None:
        super().__init__([*reply, END])
        self._spec = order.spec
        self._gone = asyncio.Event()

    @property
    def spec(self) -> LoadSpec:
        return self._spec

    async def is_healthy(self) -> bool:
        return True

    async def exited(self) -> str:
        await self._gone.wait()
        return ""

    async def stop(self) -> None:
        self._gone.set()


class ByteEngine:
    """Starts one process with a script."""

    def __init__(self, *reply: str) -> None:
        self._reply = reply
        self.processes: list[ByteProcess] = []

    async def load(self, order: LoadOrder) -> ByteProcess:
        self.processes.append(ByteProcess(order, self._reply))
        return self.processes[-1]


@asynccontextmanager
async def inference_with(engine: ByteEngine, models: ModelStore) -> AsyncIterator[Inference]:
    """What answers requests for the models of a store, by an engine."""
    scheduler = Scheduler(engine, SchedulerSettings(), PlentyOfMemory())
    started = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(scheduler.run(started=started))
        await started.wait()
        yield Inference(models, scheduler, Defaults(num_ctx=4096, ctx_auto=True))
        running.cancel()


def stored(store: ModelStore, kind: MediaType, content: bytes) -> Layer:
    """The layer of a part that is put into a store."""
    blob = store.blobs.put(content)
    return Layer(media_type=kind, digest=str(blob.digest), size=blob.size_bytes)
