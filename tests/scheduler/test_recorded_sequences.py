"""Recorded sequences of requests, as far as loading goes: how many starts, which windows, what stays.

The whole of these records is for a real daemon; here only the decisions are replayed, without waiting.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.devices import Device
from orchestrator.domain.durations import SECOND_NS, KeepAlive
from orchestrator.domain.loads import LoadSpec, ModelFiles
from orchestrator.domain.options import Options
from orchestrator.errors import RunnerFailed
from orchestrator.files.facts import model_facts
from orchestrator.runners.base import MemoryUse
from orchestrator.runners.out_of_memory import says_out_of_memory
from orchestrator.scheduler.effects import StartLoad
from orchestrator.scheduler.memory import context_tier
from orchestrator.scheduler.settings import SchedulerSettings
from tests.golden_records import FOLDER, Record, records
from tests.scheduler.simulation import Simulation

MIB = 2**20

SMALLER_WINDOW = "a smaller window is served by a larger one that is loaded (case B108)"
DIFFERENT = {
    "sequences/reload-none-to-num_ctx=2048": SMALLER_WINDOW,
    "sequences/reload-params-ctx": SMALLER_WINDOW,
    "sequences/max1-reload": SMALLER_WINDOW,
    "sequences/reload-embed-long-auto": SMALLER_WINDOW,
    "sequences/gpu-24g-auto-ctx-explicit": SMALLER_WINDOW,
    "sequences/evict-recency-ignored": "among equal keep-alives the least recently used leaves",
}


def is_about_loading(record: Record) -> bool:
    """One request after the other, all of which the daemon waits for."""
    return all(
        "wait" in step
        or ("request" in step and not step["request"].get("leave") and not step.get("kill_engine"))
        for step in record["steps"]
    )


CASES = [
    pytest.param(record, id=record["id"])
    for record in records("engine/sequences.jsonl")
    if is_about_loading(record)
]


class Shelf:
    """The models of the records, as the store would describe them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._world = json.loads((FOLDER / "engine/world.json").read_text())

    @cache  # noqa: B019 - one shelf per module
    def files(self, name: str) -> ModelFiles:
        recipe = self._world["models"][name]
        given = [self._path(file) for file in recipe["files"]]
        weights = next(path for path in given if not path.name.startswith("proj"))
        projectors = tuple(path for path in given if path != weights)
        facts = model_facts(weights, projector=projectors[0] if projectors else None)
        embedding = facts.pooling_type is not None
        return ModelFiles(
            key=str(weights),
            name=f"{name}:latest",
            digest=name,
            weights=weights,
            projectors=projectors,
            adapters=tuple(self._path(file) for file in recipe.get("adapters", ())),
            draft=next((self._path(file) for file in recipe.get("draft_files", ())), None),
            family=facts.architecture,
            capabilities=frozenset({"embedding" if embedding else "completion"}),
            facts=facts,
        )

    def spec(self, body: Mapping[str, Any], *, default_window: int) -> LoadSpec:
        recipe = self._world["models"][body["model"]]
        files = self.files(body["model"])
        parameters, wishes = recipe.get("parameters", {}), body.get("options", {})
        chosen = parameters.keys() | wishes.keys()
        options = Options(num_ctx=default_window).updated(parameters).updated(wishes)
        window = max(options.num_ctx, 4)
        if files.facts.trained_context:
            window = min(window, files.facts.trained_context)
        changes = {"num_ctx": window}
        if "draft_num_predict" not in chosen and files.draft is None:
            changes["draft_num_predict"] = 0
        is_embedding = "embedding" in files.capabilities
        if is_embedding and "num_batch" not in chosen:
            changes["num_batch"] = min(2048, window)
        return LoadSpec(
            files=files,
            options=options.updated(changes),
            ctx_auto="num_ctx" not in chosen,
            batch_auto="num_batch" not in chosen and not is_embedding,
            shift=body.get("shift", True),
            rendered="template" in recipe or body["model"] == "bare",
        )

    def _path(self, file: str) -> Path:
        path = self._folder / file
        if not path.exists():
            path.write_bytes(gzip.decompress(base64.b64decode(self._world["blobs"][file]["gzip_base64"])))
        return path


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("shelf"))


class Script:
    """What the engine of a record does at each start; a step's own script replaces the one before."""

    def __init__(self, record: Record) -> None:
        self._loads: list[dict[str, Any]] = []
        self._lines: list[str] = []
        self.begin(record)

    def begin(self, part: Mapping[str, Any]) -> None:
        if part.get("script") is not None:
            self._loads = list(part["script"].get("loads", ()))

    def outcome(self, start: StartLoad) -> RunnerFailed | None:
        load = self._loads.pop(0) if self._loads else {}
        self._lines = load.get("stderr", [])
        text = "\n".join(self._lines)
        return RunnerFailed(text, out_of_memory=says_out_of_memory(text)) if "exit" in load else None

    def memory(self, start: StartLoad) -> MemoryUse:
        """Of the start whose outcome was asked for last."""
        sizes: dict[str, int] = {}
        for line in self._lines:
            if found := re.search(r"(CUDA\d+) \w+ buffer size = +([\d.]+) MiB", line):
                sizes[found[1]] = sizes.get(found[1], 0) + int(float(found[2]) * MIB)
        return MemoryUse(sum(sizes.values()), sum(sizes.values()), sizes)


def simulated(record: Record, script: Script) -> Simulation:
    """The machine of a record."""
    env = record.get("env", {})
    return Simulation(
        SchedulerSettings(
            max_loaded=int(env.get("OLLAMA_MAX_LOADED_MODELS", 0)),
            parallel=int(env.get("OLLAMA_NUM_PARALLEL", 1)),
            keep_alive=KeepAlive.parse(env.get("OLLAMA_KEEP_ALIVE", "5m")),
        ),
        load_s=0.05,
        stop_s=0.01,
        devices=devices_of(record),
        on_load=script.outcome,
        memory_of=script.memory,
    )


def devices_of(record: Record) -> tuple[Device, ...]:
    return tuple(
        Device(
            library="CUDA",
            id=str(device["index"]),
            name=f"CUDA{device['index']}",
            total_bytes=device["total"] * MIB,
            free_bytes=device["free"] * MIB,
        )
        for device in record.get("devices", ())
    )


def replay(record: Record, shelf: Shelf) -> list[dict[str, Any]]:
    """What became of each step: windows of the starts, and the models loaded after it."""
    script, results = Script(record), []
    simulation = simulated(record, script)
    default_window = context_tier(devices_of(record))
    for step in record["steps"]:
        before = len(simulation.starts)
        script.begin(step)
        if "wait" in step:
            simulation.run(until=simulation.now + step["wait"])
        else:
            send(simulation, shelf, step["request"], default_window)
        windows = [
            start.order.spec.options.num_ctx * start.order.parallel for start in simulation.starts[before:]
        ]
        results.append({"windows": windows, "loaded": simulation.loaded})
    return results


def send(simulation: Simulation, shelf: Shelf, request: Mapping[str, Any], default_window: int) -> None:
    """One call, until its answer and what follows from it at once are there."""
    body = request["json"]
    spec = shelf.spec(body, default_window=default_window)
    keep_alive = None if "keep_alive" not in body else KeepAlive.parse(body["keep_alive"])
    empty = not (body.get("prompt") or body.get("messages") or body.get("input"))
    if keep_alive is not None and keep_alive.is_zero and empty:
        simulation.unload(spec, at=simulation.now)
    else:
        simulation.ask(spec, work=0.01, keep_alive=None if keep_alive is None else keep_alive.ns / SECOND_NS)
    simulation.run()
    simulation.run(until=simulation.now + 0.02)


def recorded(record: Record) -> list[dict[str, Any]]:
    return [
        {
            "windows": [int(argv[argv.index("-c") + 1]) for argv in _argvs(step)],
            "loaded": sorted(step["loaded"]),
        }
        for step in record["steps"]
    ]


def _argvs(step: Mapping[str, Any]) -> list[list[str]]:
    return [launch["argv"] for launch in step.get("launches", ())]


@pytest.mark.parametrize("record", CASES)
def test_a_recorded_sequence_loads_and_keeps_what_it_did(record: Record, shelf: Shelf) -> None:
    same = replay(record, shelf) == recorded(record)
    assert same is (record["id"] not in DIFFERENT), (replay(record, shelf), recorded(record))
