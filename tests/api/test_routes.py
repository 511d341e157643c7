"""The tables of routes say what the modules say."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import Request

from orchestrator.api.anthropic import routes as anthropic
from orchestrator.api.native import routes as native
from orchestrator.api.openai import routes as openai
from orchestrator.api.routing import Route, deferred
from orchestrator.api.state import AppState
from tests.api import slow_gate
from tests.api.conftest import Client

TABLES = (native.MODULES, openai.MODULES, anthropic.MODULES)


@pytest.mark.parametrize("module", sorted({name for table in TABLES for name in table}))
def test_the_tables_name_exactly_the_routes_of_each_module(state: AppState, module: str) -> None:
    told: Iterable[Any] = import_module(module).routes(state)
    tabled = [route for table in TABLES for route in table.get(module, ())]
    assert sorted(tabled) == sorted(f"{route.method} {route.path}" for route in told)


async def test_a_module_is_there_when_it_is_asked_for(client: Client) -> None:
    for _ in range(2):
        async with client.get("/api/tags") as response:
            assert await response.json() == {"models": []}


async def one_served(route: Route, request: Request) -> None:
    await route.handler(request)


async def test_requests_that_come_while_a_module_is_imported_are_served_in_order(state: AppState) -> None:
    [route] = deferred(state, {"tests.api.slow_module": ("GET /slow",)})
    requests = [make_mocked_request("GET", f"/slow?{number}") for number in range(50)]
    async with asyncio.TaskGroup() as group:
        for request in requests:
            group.create_task(one_served(route, request))
        await asyncio.sleep(0)  # all of them have come
        slow_gate.opened.set()
    assert import_module("tests.api.slow_module").served == requests


def test_a_daemon_that_only_starts_has_no_dialect_in_memory() -> None:
    late = (
        "orchestrator.wire.native",
        "orchestrator.wire.openai",
        "orchestrator.templates",
        "orchestrator.grammars",
    )
    code = f"import sys, orchestrator.daemon; print([name for name in {late!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
