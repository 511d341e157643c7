"""The embedded engine as a program, with a real model."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason, StopDetail
from orchestrator.domain.formats import SchemaFormat
from orchestrator.domain.loads import LoadSpec, ModelFiles
from orchestrator.domain.options import Options
from orchestrator.domain.requests import Message
from orchestrator.errors import EngineRefused, RunnerFailed
from orchestrator.files.facts import model_facts
from orchestrator.process.address import RunDirectory, UnixAddress
from orchestrator.runners.base import ChatCall, CompletionCall, LoadOrder
from orchestrator.runners.connection import Channel, EngineUnreachable
from orchestrator.runners.engines import embedded_engine
from orchestrator.runners.llama.engine import LlamaEngine
from orchestrator.runners.llama.launch import EngineSettings
from orchestrator.runners.llama.runner import LlamaRunner
from tests.sample_models import PackageMissing, smollm2

GREEDY = Options(num_ctx=1024, temperature=0.0, num_predict=4, seed=1)
ENGINE = embedded_engine()


@pytest.fixture(scope="module")
def model() -> Path:
    try:
        return smollm2()
    except PackageMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def files(model: Path) -> ModelFiles:
    return ModelFiles(key=str(model), name="smollm2", digest="", weights=model, facts=model_facts(model))


def run_program(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ENGINE.argv_prefix, *argv], cwd=ENGINE.cwd, capture_output=True, text=True, check=False
    )


def test_the_version_goes_to_stderr() -> None:
    answer = run_program("--version")
    assert answer.returncode == 0
    assert answer.stdout == ""
    assert answer.stderr.startswith("version: xllamacpp ")


def test_devices_are_listed_as_llama_server_does() -> None:
    answer = run_program("--list-devices", "--offline")
    assert answer.returncode == 0
    assert answer.stdout.startswith("Available devices:\n  ")


def test_an_unknown_flag_ends_the_program() -> None:
    answer = run_program("--model", "x", "--nope")
    assert answer.returncode == 1
    assert "error: invalid argument: --nope" in answer.stderr


# ---- with a model ----


@asynccontextmanager
async def serving(
    files: ModelFiles, run: RunDirectory, *, num_ctx: int = 1024, shift: bool = True
) -> AsyncIterator[LlamaRunner]:
    spec = LoadSpec(files=files, options=Options(num_ctx=num_ctx), batch_auto=True, shift=shift)
    runner = await LlamaEngine(ENGINE, EngineSettings(), run).load(LoadOrder(spec=spec))
    try:
        yield runner
    finally:
        await runner.stop()


async def read(stream: Batches) -> tuple[str, Done]:
    async with aclosing(cast(Any, stream)) as batches:
        items = [item async for batch in batches for item in batch]
    done = items[-1]
    assert isinstance(done, Done)
    return "".join(item.content for item in items if isinstance(item, Chunk)), done


async def test_a_real_model_answers(files: ModelFiles, run: RunDirectory) -> None:
    async with serving(files, run) as runner:
        call = CompletionCall(prompt="The capital of France is", options=GREEDY, top_logprobs=2)
        text, done = await read(runner.complete(call))
        assert text.startswith(" Paris")
        assert (done.reason, done.detail) == (DoneReason.LENGTH, StopDetail.BUDGET)
        assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (5, 4)
        again, done = await read(runner.complete(call))
        assert (again, done.usage.prompt_tokens) == (text, 5)
        assert done.usage.cached_tokens > 0

        chat = ChatCall(messages=(Message("user", "Say hello."),), options=GREEDY)
        reply, done = await read(runner.chat(chat))
        assert reply
        prompt = await runner.apply_template(chat)
        assert prompt.endswith("<|im_start|>assistant\n")
        tokens = await runner.tokenize(prompt)
        assert done.usage.prompt_tokens == len(tokens)
        assert await runner.detokenize(tokens) == prompt

        schema = SchemaFormat({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
        text, _ = await read(
            runner.complete(CompletionCall(prompt="A number:", options=GREEDY, format=schema))
        )
        assert text.lstrip().startswith("{")

        assert runner.memory.total_bytes > files.facts.size_bytes
        assert runner.memory.vram_bytes == 0
        with pytest.raises(EngineRefused, match="does not support embeddings") as caught:
            await runner.embed("hello")
        assert caught.value.status == 501


async def test_a_full_window_is_told_from_a_used_up_budget(files: ModelFiles, run: RunDirectory) -> None:
    async with serving(files, run, num_ctx=256, shift=False) as runner:
        call = CompletionCall(prompt="one two three four " * 63, options=GREEDY.updated({"num_predict": -1}))
        _, done = await read(runner.complete(call))
        assert (done.reason, done.detail) == (DoneReason.LENGTH, StopDetail.WINDOW)


async def test_a_prompt_beyond_the_window_is_refused(files: ModelFiles, run: RunDirectory) -> None:
    async with serving(files, run) as runner:
        call = CompletionCall(prompt="one two three " * 1000, options=GREEDY)
        with pytest.raises(EngineRefused, match="exceeds the available context size") as caught:
            await read(runner.complete(call))
        assert caught.value.status == 400


async def test_a_client_that_leaves_frees_the_only_slot(files: ModelFiles, run: RunDirectory) -> None:
    async with serving(files, run) as runner:
        endless = CompletionCall(prompt="Count: 1 2 3", options=GREEDY.updated({"num_predict": 100_000}))
        async with aclosing(cast(Any, runner.complete(endless))) as batches:
            await anext(batches)
        async with asyncio.timeout(10):
            text, _ = await read(runner.complete(CompletionCall(prompt="Hello", options=GREEDY)))
        assert text


async def test_a_broken_file_is_told_in_the_engines_words(tmp_path: Path, run: RunDirectory) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"garbage, no model at all")
    files = ModelFiles(key="k", name="broken", digest="", weights=broken)
    order = LoadOrder(spec=LoadSpec(files=files, options=Options(num_ctx=1024)))
    with pytest.raises(RunnerFailed) as caught:
        await LlamaEngine(ENGINE, EngineSettings(), run).load(order)
    assert str(caught.value).startswith(
        "llama-server process has terminated: exit status 1: error loading model: "
    )


# ---- how it ends ----


@asynccontextmanager
async def started(model: Path, socket: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The program by itself, ready to serve."""
    argv = [*ENGINE.argv_prefix, "--model", str(model), "--host", str(socket), "-c", "256"]
    argv += ["--no-warmup", "--fit", "off"]
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=ENGINE.cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        while b"embedded: stops on" not in await process.stderr.readline():
            assert process.returncode is None
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_properly(model: Path, tmp_path: Path, number: signal.Signals) -> None:
    socket = tmp_path / "x.sock"
    async with started(model, socket) as process:
        process.send_signal(number)
        assert await process.wait() == 0
    assert await is_gone(socket)


async def test_it_ends_when_its_tether_is_cut(model: Path, tmp_path: Path) -> None:
    socket = tmp_path / "x.sock"
    async with started(model, socket) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
    assert await is_gone(socket)


async def is_gone(socket: Path) -> bool:
    """Whether nobody listens there and the file is removed."""
    try:
        async with Channel(UnixAddress(socket)).exchange("GET", "/health"):
            return False
    except EngineUnreachable as error:
        return isinstance(error.__cause__, FileNotFoundError)
