"""Loading: what becomes of engines that start, stall, die and are told to stop while they load."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import RunnerFailed
from orchestrator.process.address import RunDirectory
from orchestrator.runners.base import LoadOrder, MemoryUse
from orchestrator.runners.engines import Transport
from orchestrator.runners.llama.engine import LlamaEngine
from orchestrator.runners.llama.launch import EngineSettings
from orchestrator.runners.llama.older import UnknownFlag
from orchestrator.runners.turns import Turns
from tests.runners.conftest import Load
from tests.scripted_engine.control import ScriptedEngine

OUT_OF_MEMORY = "ggml_aligned_malloc: insufficient memory (attempted to allocate 43948.12 MB)"


@pytest.fixture
def vision(spec: LoadSpec, tmp_path: Path) -> LoadSpec:
    return replace(spec, files=replace(spec.files, projectors=(tmp_path / "projector.gguf",)))


@pytest.mark.parametrize("transport", list(Transport))
async def test_a_runner_answers_and_leaves_nothing_behind(load: Load, transport: Transport) -> None:
    runner = await load(transport=transport)
    assert await runner.is_healthy()
    assert psutil.pid_exists(runner.pid)
    await runner.stop()
    await runner.stop()
    assert not psutil.pid_exists(runner.pid)
    assert not await runner.is_healthy()


async def test_the_options_in_force_are_those_of_the_launch(load: Load) -> None:
    runner = await load()
    assert runner.mmap_auto
    assert (runner.spec.options.num_batch, runner.spec.options.use_mmap) == (512, False)


async def test_sizes_in_the_log_are_what_the_runner_occupies(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(loads=[{"stderr": ["llama_kv_cache:        CPU KV buffer size =  2.00 MiB"]}])
    assert (await load()).memory == MemoryUse(total_bytes=2 << 20)


@pytest.mark.parametrize(("num_thread", "told"), [(2, False), (3, True), (64, True)])
async def test_more_threads_than_cores_are_told_to_the_operator(
    load: Load, spec: LoadSpec, caplog: pytest.LogCaptureFixture, num_thread: int, told: bool
) -> None:
    await load(
        loads=replace(spec, options=replace(spec.options, num_thread=num_thread)),
        turns=Turns(cores=2, turn_s=0.04),
    )
    assert ("more threads than cores make an engine slower" in caplog.text) == told


async def test_each_process_has_a_media_marker_of_its_own(scripted: ScriptedEngine, load: Load) -> None:
    await load()
    await load()
    markers = {launch["env"]["LLAMA_MEDIA_MARKER"] for launch in scripted.log("launch")}
    assert len(markers) == 2


@pytest.mark.parametrize(
    ("this", "error"),
    [
        ({"exit": 1}, "exit status 1"),
        ({"exit": 1, "stderr": ["noise", "x error: y"]}, "exit status 1: error: y"),
        ({"exit": 0}, "OK"),
        ({"exit": 0, "stderr": ["error: line"]}, "error: line"),
        ({"exit": 139, "stderr": ["error: line"]}, "exit status 139: error: line"),
        ({"kill": 11}, "signal: segmentation fault"),
        ({"kill": 11, "stderr": ["load_tensors: x"]}, "signal: segmentation fault: load_tensors: x"),
        ({"kill": 9, "stderr": ["GGML_ASSERT(x) failed"]}, "signal: killed: GGML_ASSERT(x) failed"),
        ({"kill": 9, "stderr": ["load_tensors: 50 %"]}, "signal: killed"),
        ({"kill": 15, "stderr": ["load_tensors: 50 %"]}, "signal: terminated"),
        ({"exit": 3, "loading_s": 0.1, "stderr_after": ["error: late"]}, "exit status 3: error: late"),
        (
            {"exit": 1, "stderr": ["", "libgomp: Thread creation failed: Resource temporarily unavailable"]},
            "exit status 1: libgomp: Thread creation failed: Resource temporarily unavailable",
        ),
        (
            {"kill": 11, "stderr": ["loading", "making threads"]},
            "signal: segmentation fault: loading\nmaking threads",
        ),
    ],
)
async def test_a_start_that_ends_is_told_with_its_last_words(
    scripted: ScriptedEngine, load: Load, this: dict[str, object], error: str
) -> None:
    scripted.script(loads=[this])
    with pytest.raises(RunnerFailed) as caught:
        await load()
    assert str(caught.value) == f"llama-server process has terminated: {error}"
    assert not caught.value.out_of_memory


@pytest.mark.parametrize("line", [OUT_OF_MEMORY, "vk::Device::allocateMemory: ErrorOutOfDeviceMemory"])
async def test_exhausted_memory_is_known_as_such(scripted: ScriptedEngine, load: Load, line: str) -> None:
    scripted.script(loads=[{"exit": 1, "stderr": [line]}])
    with pytest.raises(RunnerFailed) as caught:
        await load()
    assert caught.value.out_of_memory


async def test_exhausted_memory_of_an_engine_that_answers_oddly_ends_the_start(
    scripted: ScriptedEngine, load: Load
) -> None:
    scripted.script(
        loads=[{"stderr": [OUT_OF_MEMORY]}],
        health=True,
        answers={"/health": [{"status": 500, "body": "x"}]},
        answers_repeat=True,
    )
    with pytest.raises(
        RunnerFailed, match="^llama-server reported out-of-memory during startup: ggml"
    ) as caught:
        await load()
    assert caught.value.out_of_memory


@pytest.mark.parametrize(
    "this",
    [
        {"loading_s": 0.2, "stderr": ["cudaMalloc failed: out of memory", "error: x"]},
        {"loading_s": 0.2, "stderr": ["failed to allocate, retrying without pipeline parallelism"]},
        {"sleep": 0.2},
    ],
)
async def test_an_engine_that_gets_ready_in_the_end_is_fine(
    scripted: ScriptedEngine, load: Load, this: dict[str, object]
) -> None:
    scripted.script(loads=[this])
    assert await (await load()).is_healthy()


async def test_odd_answers_to_the_health_check_are_waited_out(scripted: ScriptedEngine, load: Load) -> None:
    answers = [{"status": 404, "json": {}}, {"status": 200, "body": ""}, {"status": 503, "body": "nonsense"}]
    scripted.script(health=True, answers={"/health": answers})
    assert await (await load()).is_healthy()


@pytest.mark.parametrize(
    ("lines", "words", "stall_s"),
    [([], "", 0.3), (["error: stuck"], "error: stuck", 5.0)],  # what it says has to arrive before
)
async def test_a_stalled_start_is_given_up(
    scripted: ScriptedEngine, load: Load, lines: list[str], words: str, stall_s: float
) -> None:
    scripted.script(loads=[{"loading_s": 60, "stderr": lines}])
    with pytest.raises(RunnerFailed, match=f"^timed out waiting for llama-server to start - {words}$"):
        await load(stall=timedelta(seconds=stall_s))


async def test_a_program_that_cannot_be_started_is_an_error(
    scripted: ScriptedEngine, run: RunDirectory, spec: LoadSpec, tmp_path: Path
) -> None:
    info = replace(scripted.info(), argv_prefix=(str(tmp_path / "missing"),))
    engine = LlamaEngine(info, EngineSettings(), run)
    with pytest.raises(RunnerFailed, match="^error starting llama-server: .*: no such file or directory$"):
        await engine.load(LoadOrder(spec=spec))


async def test_a_taken_port_is_tried_again_elsewhere(scripted: ScriptedEngine, load: Load) -> None:
    line = "srv  start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1"
    scripted.script(loads=[{"exit": 1, "stderr": [line]}])
    await load(transport=Transport.TCP)
    ports = [launch["argv"][launch["argv"].index("--port") + 1] for launch in scripted.log("launch")]
    assert len(set(ports)) == 2


async def test_ports_that_are_always_taken_are_an_error(scripted: ScriptedEngine, load: Load) -> None:
    line = "srv  start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1"
    scripted.script(loads=[{"exit": 1, "stderr": [line]}], loads_repeat=True)
    with pytest.raises(RunnerFailed, match="^llama-server process has terminated: exit status 1: .*couldn't"):
        await load(transport=Transport.TCP)
    assert len(scripted.log("launch")) == 3


async def test_a_projector_without_room_on_the_gpu_goes_to_the_cpu(
    scripted: ScriptedEngine, load: Load, vision: LoadSpec
) -> None:
    scripted.script(loads=[{"exit": 1, "stderr": [OUT_OF_MEMORY]}])
    await load(loads=vision)
    first, second = (launch["argv"] for launch in scripted.log("launch"))
    assert "--no-mmproj-offload" not in first
    assert "--no-mmproj-offload" in second


@pytest.mark.parametrize(
    ("second", "error", "out_of_memory"),
    [
        (OUT_OF_MEMORY, f"exit status 1: {OUT_OF_MEMORY}", True),
        ("error: other", "exit status 1: error: other", False),
    ],
)
async def test_a_second_failure_with_a_projector_tells_of_both_tries(
    scripted: ScriptedEngine, load: Load, vision: LoadSpec, second: str, error: str, out_of_memory: bool
) -> None:
    scripted.script(loads=[{"exit": 1, "stderr": [line]} for line in (OUT_OF_MEMORY, second)])
    with pytest.raises(RunnerFailed) as caught:
        await load(loads=vision)
    assert str(caught.value) == (
        "llama-server startup failed after projector CPU offload retry: "
        f"llama-server process has terminated: {error}"
    )
    assert caught.value.out_of_memory == out_of_memory


async def test_other_failures_with_a_projector_are_final(
    scripted: ScriptedEngine, load: Load, vision: LoadSpec
) -> None:
    scripted.script(loads=[{"exit": 1, "stderr": ["error: bad projector"]}])
    with pytest.raises(RunnerFailed, match="bad projector"):
        await load(loads=vision)
    assert len(scripted.log("launch")) == 1


async def test_an_adapter_with_a_comma_in_its_name_is_there_under_another(
    scripted: ScriptedEngine, load: Load, spec: LoadSpec, tmp_path: Path
) -> None:
    adapter = tmp_path / "a,b.gguf"
    adapter.write_bytes(b"adapter")
    await load(loads=replace(spec, files=replace(spec.files, adapters=(adapter,))))
    argv = scripted.log("launch")[0]["argv"]
    link = argv[argv.index("--lora") + 1]
    assert "," not in link
    assert lead_to_the_same(link, adapter)


def lead_to_the_same(link: str, file: Path) -> bool:
    return Path(link).samefile(file)


async def test_a_cancelled_load_leaves_no_process(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(loads=[{"loading_s": 60, "ignore_sigterm": True}])
    task = asyncio.create_task(load())
    launch = await scripted.heard("launch")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(launch["pid"])


async def test_an_engine_killed_while_it_loads_is_an_error(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(loads=[{"loading_s": 60}])
    task = asyncio.create_task(load())
    launch = await scripted.heard("launch")
    os.kill(launch["pid"], signal.SIGKILL)
    with pytest.raises(RunnerFailed, match="^llama-server process has terminated: signal: killed"):
        await task


async def test_an_engine_deaf_to_sigterm_is_stopped_all_the_same(
    scripted: ScriptedEngine, load: Load
) -> None:
    scripted.script(loads=[{"ignore_sigterm": True}])
    runner = await load()
    os.kill(runner.pid, signal.SIGTERM)
    started = time.monotonic()
    await runner.stop()
    assert time.monotonic() - started < 2
    assert not psutil.pid_exists(runner.pid)


async def test_the_end_of_an_idle_engine_is_told_to_whoever_waits(
    scripted: ScriptedEngine, load: Load
) -> None:
    runner = await load()
    ends = [asyncio.create_task(runner.exited()) for _ in range(2)]
    os.kill(runner.pid, signal.SIGKILL)
    assert [await end for end in ends] == ["signal: killed"] * 2
    await runner.stop()


async def test_stopping_wakes_whoever_waits_for_the_end(load: Load) -> None:
    runner = await load()
    end = asyncio.create_task(runner.exited())
    await runner.stop()
    assert await end == "signal: killed"


async def test_a_stop_that_is_cancelled_is_finished_first(load: Load) -> None:
    runner = await load()
    stop = asyncio.create_task(runner.stop())
    await asyncio.sleep(0)
    stop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stop
    assert not psutil.pid_exists(runner.pid)


def complaint(flag: str) -> dict[str, object]:
    return {"exit": 1, "stderr": [f"error: invalid argument: {flag}"]}


async def test_an_engine_of_another_release_is_started_without_what_it_lacks(
    scripted: ScriptedEngine, load: Load
) -> None:
    scripted.script(loads=[complaint("--fit"), complaint("--metrics"), {}])
    await load()
    first, second, third = (launch["argv"] for launch in scripted.log("launch"))
    assert {"--fit", "--metrics"} <= set(first)
    assert "--fit" not in second
    assert "off" not in second
    assert {"--fit", "--metrics"}.isdisjoint(third)
    assert len(first) - len(third) == len(["--fit", "off", "--metrics"])


async def test_a_flag_that_cannot_be_done_without_is_an_error_with_advice(
    scripted: ScriptedEngine, load: Load
) -> None:
    scripted.script(loads=[complaint("--load-mode")], loads_repeat=True)
    with pytest.raises(UnknownFlag, match="exit status 1: error: invalid argument: --load-mode") as caught:
        await load()
    assert "orch engine build" in (caught.value.hint or "")
    assert len(scripted.log("launch")) == 1


async def test_an_engine_that_complains_again_is_given_up(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(loads=[complaint("--fit")], loads_repeat=True)
    with pytest.raises(UnknownFlag):
        await load()
    assert len(scripted.log("launch")) == 2
