"""The whole HTTP layer over a real store, with a scheduler that has no runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import BaseTestServer, TestClient
from aiohttp.web import Request, ServerRunner

from orchestrator.api.app import make_server
from orchestrator.api.native.routes import native_routes
from orchestrator.api.origins import Origins
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.errors import RunnerFailed
from orchestrator.inference.prepare import Defaults
from orchestrator.inference.service import Inference
from orchestrator.metrics import Metrics
from orchestrator.registry.settings import RegistrySettings
from orchestrator.registry.transfers import Transfers
from orchestrator.runners.base import LoadOrder, RunnerProcess
from orchestrator.scheduler.loop import Scheduler
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore

Client = TestClient[Request, None]


class NoEngine:
    """An engine that cannot start anything."""

    async def load(self, order: LoadOrder) -> RunnerProcess:
        raise RunnerFailed("no engine here")


class NoProbe:
    """Knows nothing of the machine."""

    def system(self) -> SystemMemory | None:
        return None

    def devices(self) -> tuple[Device, ...]:
        return ()


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[AppState]:
    models = ModelStore(StoreLayout(tmp_path / "models"))
    await models.start()
    scheduler = Scheduler(NoEngine(), SchedulerSettings(), NoProbe())
    started = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(scheduler.run(started=started))
        await started.wait()
        yield AppState(
            version="1.2.3",
            models=models,
            scheduler=scheduler,
            make_inference=lambda: Inference(models, scheduler, Defaults(num_ctx=4096, ctx_auto=True)),
            make_transfers=lambda: Transfers(models, RegistrySettings(key_folder=tmp_path / "keys")),
            metrics=Metrics(),
            origins=Origins.parse(()),
            check_hosts=True,
            max_body_bytes=1 << 20,
        )
        running.cancel()


class Served(BaseTestServer):
    """A server made as the daemon makes it."""

    def __init__(self, state: AppState, routes: Iterable[Route]) -> None:
        super().__init__()
        self._state, self._routes = state, routes

    async def _make_runner(self, **_: Any) -> ServerRunner:
        return ServerRunner(make_server(self._state, self._routes))


@asynccontextmanager
async def serving(state: AppState, *routes: Route) -> AsyncIterator[Client]:
    """A client of a server with ``state``, and further ``routes``."""
    async with Client(Served(state, [*native_routes(state), *routes])) as client:
        yield client


@pytest.fixture
async def client(state: AppState) -> AsyncIterator[Client]:
    async with serving(state) as client:
        yield client
