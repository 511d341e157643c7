"""What an engine says of itself, and whether it really loads a model and answers."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from orchestrator.discovery.probe import DeviceProbe, ProbedEngine
from orchestrator.doctor.tiny import write_tiny_model
from orchestrator.doctor.words import words_of
from orchestrator.domain.chunks import Done
from orchestrator.domain.devices import Device
from orchestrator.domain.loads import LoadSpec, ModelFiles
from orchestrator.domain.options import Options
from orchestrator.errors import OrchestratorError
from orchestrator.files.facts import model_facts
from orchestrator.process.address import run_directory
from orchestrator.runners.base import CompletionCall, LoadOrder, Runner
from orchestrator.runners.engines import EngineInfo, EngineKind, find_quantizer
from orchestrator.runners.llama.engine import LlamaEngine
from orchestrator.runners.llama.launch import EngineSettings

_LOAD_PATIENCE = timedelta(seconds=60)
_CONTEXT = 256
_LOADED_FOR_CPU = re.compile(r"loaded CPU backend from (.*\S)")
_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """A load of a tiny model that went well."""

    load_ms: int
    tokens: int
    """Tokens it answered."""


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything found out about one engine."""

    engine: EngineInfo
    version: str
    """What it says of itself; empty when it does not start."""
    devices: tuple[Device, ...]
    quantizer: Path | None
    trial: Trial | None
    problem: str = ""
    """Why there is no trial."""
    processor: Path | None = None
    """The library it chose for this processor; ``None`` if there was nothing to choose."""

    @property
    def serves(self) -> bool:
        return self.trial is not None


def examine(engine: EngineInfo, environ: Mapping[str, str]) -> Examination:
    """Examine ``engine`` as a daemon with ``environ`` would use it."""
    trial, problem = None, ""
    try:
        trial = _try(engine, environ)
    except (OrchestratorError, TimeoutError) as error:
        problem = str(error) or f"it was not ready within {_LOAD_PATIENCE.seconds} s"
    return Examination(
        engine=engine,
        version=version_of(engine, environ),
        devices=_devices(engine, environ),
        processor=_processor(engine, environ),
        quantizer=find_quantizer(engine),
        trial=trial,
        problem=problem,
    )


def version_of(engine: EngineInfo, environ: Mapping[str, str]) -> str:
    """The line in which it names its version; empty when it has none."""
    try:
        lines = words_of(engine, environ, "--version").splitlines()
    except (OSError, subprocess.SubprocessError):
        return ""
    said = next((line for line in lines if line.startswith("version:")), "")
    return said.removeprefix("version:").strip()


def _devices(engine: EngineInfo, environ: Mapping[str, str]) -> tuple[Device, ...]:
    if engine.kind is EngineKind.EMBEDDED:
        return ()
    probed = ProbedEngine(
        argv_prefix=engine.argv_prefix,
        cwd=engine.cwd,
        library_dir=engine.library_dir,
        backends=engine.backends,
        environ=environ,
    )
    return DeviceProbe(probed, integrated=True).devices()


def _processor(engine: EngineInfo, environ: Mapping[str, str]) -> Path | None:
    """It says so when it looks for devices."""
    try:
        words = words_of(engine, environ, "--verbose", "--list-devices")
    except (OSError, subprocess.SubprocessError):
        return None
    match = _LOADED_FOR_CPU.search(words)
    return Path(match[1]) if match else None


def _try(engine: EngineInfo, environ: Mapping[str, str]) -> Trial:
    """Load the tiny model and let it answer. Raises ``RunnerFailed`` or ``TimeoutError``."""
    with (
        tempfile.TemporaryDirectory(prefix="orch-doctor-") as folder,
        run_directory(Path(folder) / "run") as run,
    ):
        weights = Path(folder) / "tiny.gguf"
        write_tiny_model(weights)
        files = ModelFiles(key="tiny", name="tiny", digest="", weights=weights, facts=model_facts(weights))
        order = LoadOrder(spec=LoadSpec(files=files, options=Options(num_ctx=_CONTEXT), rendered=True))
        loader = LlamaEngine(engine, EngineSettings(environ=environ), run, _LOAD_PATIENCE)
        return asyncio.run(_load(loader, order))


async def _load(loader: LlamaEngine, order: LoadOrder) -> Trial:
    started = time.monotonic()
    async with asyncio.timeout(_LOAD_PATIENCE.total_seconds()):
        runner = await loader.load(order)
        loaded = time.monotonic()
        try:
            tokens = await _answer(runner)
        finally:
            await runner.stop()
    return Trial(round((loaded - started) * 1000), tokens)


async def _answer(runner: Runner) -> int:
    """Let a runner continue a text; how many tokens it gave."""
    call = CompletionCall(prompt="Hello", options=Options(num_predict=_TOKENS, temperature=0.0))
    tokens = 0
    async with aclosing(runner.complete(call)) as batches:
        async for batch in batches:
            tokens += sum(item.usage.completion_tokens for item in batch if isinstance(item, Done))
    return tokens
