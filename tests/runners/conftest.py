from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.loads import LoadSpec, ModelFacts, ModelFiles
from orchestrator.domain.options import Options
from orchestrator.process.address import RunDirectory, run_directory
from orchestrator.runners.base import LoadOrder
from orchestrator.runners.engines import Transport
from orchestrator.runners.llama.engine import LlamaEngine
from orchestrator.runners.llama.launch import EngineSettings
from orchestrator.runners.llama.runner import LlamaRunner
from orchestrator.runners.turns import Turns
from tests.scripted_engine.control import ScriptedEngine, scripted_engine

Load = Callable[..., Coroutine[Any, Any, LlamaRunner]]


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunDirectory]:
    with run_directory(tmp_path_factory.mktemp("r")) as directory:
        yield directory
        assert [path.name for path in directory.path.iterdir()] == ["lock"], "something was left behind"


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[ScriptedEngine]:
    with scripted_engine(tmp_path) as engine:
        yield engine


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.fixture
def spec(weights: Path) -> LoadSpec:
    files = ModelFiles(
        key=str(weights),
        name="toy:latest",
        digest="0" * 64,
        weights=weights,
        facts=ModelFacts(architecture="llama", block_count=2, trained_context=8192, size_bytes=1056),
    )
    return LoadSpec(files=files, options=Options(num_ctx=4096), batch_auto=True, rendered=True)


@pytest.fixture
async def load(scripted: ScriptedEngine, run: RunDirectory, spec: LoadSpec) -> AsyncIterator[Load]:
    """Loads the toy model into the scripted engine; members of the order may be given."""
    runners: list[LlamaRunner] = []

    async def load(
        *,
        facts: dict[str, Any] | None = None,
        stall: timedelta | None = timedelta(seconds=20),
        transport: Transport = Transport.UNIX,
        loads: LoadSpec = spec,
        turns: Turns | None = None,
        **order: Any,
    ) -> LlamaRunner:
        settings = EngineSettings(environ={**os.environ, **scripted.environ})
        engine = LlamaEngine(scripted.info(transport), settings, run, stall, turns=turns)
        files = replace(loads.files, facts=replace(loads.files.facts, **(facts or {})))
        runner = await engine.load(LoadOrder(spec=replace(loads, files=files), **order))
        runners.append(runner)
        return runner

    yield load
    for runner in runners:
        await runner.stop()
