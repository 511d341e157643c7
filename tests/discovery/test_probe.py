"""Asking an engine for its devices; the engine is the scripted one, with pretended GPUs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.discovery.probe import DeviceProbe, ProbedEngine
from tests.scripted_engine.control import ScriptedEngine, scripted_engine

MIB = 1 << 20


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[ScriptedEngine]:
    with scripted_engine(tmp_path) as engine:
        yield engine


@pytest.fixture
def engine(scripted: ScriptedEngine, tmp_path: Path) -> ProbedEngine:
    """An engine with two variants for CUDA."""
    info = scripted.info()
    library = tmp_path / "lib"
    backends = {}
    for variant in ("cuda_v12", "cuda_v13"):
        (library / variant).mkdir(parents=True)
        backends[library / variant] = library / variant / "libggml-cuda.so"
    return ProbedEngine(
        argv_prefix=info.argv_prefix,
        cwd=info.cwd,
        library_dir=library,
        backends=backends,
        environ={**os.environ, **scripted.environ},
    )


def pretend(scripted: ScriptedEngine, *devices: dict[str, Any]) -> None:
    common = {"name": "CUDA", "desc": "NVIDIA Toy", "total": 24564, "free": 23592}
    (scripted.folder / "devices.json").write_text(json.dumps([common | device for device in devices]))


def test_devices_are_found_with_their_variant(scripted: ScriptedEngine, engine: ProbedEngine) -> None:
    pretend(
        scripted,
        {"index": 0, "cc": "8.9", "variant": "cuda_v13"},
        {"index": 1, "cc": "6.1", "variant": "cuda_v13"},
        {"index": 0, "cc": "8.9", "variant": "cuda_v12"},
    )
    (device,) = DeviceProbe(engine).devices()
    assert (device.library, device.id, device.filter_id, device.compute) == ("CUDA", "0", "0", (8, 9))
    assert device.library_path == (str(engine.library_dir), f"{engine.library_dir}/cuda_v13")
    assert device.total_bytes == 24564 * MIB


def test_only_the_chosen_variant_is_asked(scripted: ScriptedEngine, engine: ProbedEngine) -> None:
    pretend(scripted, {"index": 0, "cc": "8.9", "variant": "cuda_v13"})
    assert DeviceProbe(engine, variant="cuda_v12").devices() == ()


def test_free_memory_is_asked_for_anew_where_there_are_gpus(
    scripted: ScriptedEngine, engine: ProbedEngine
) -> None:
    pretend(scripted, {"index": 0, "cc": "8.9", "variant": "cuda_v13"})
    probe = DeviceProbe(engine)
    first, second = probe.devices(), probe.devices()
    assert second[0].free_bytes > first[0].free_bytes
    assert second == (replace(first[0], free_bytes=second[0].free_bytes),)


def test_without_gpus_the_engine_is_asked_once(scripted: ScriptedEngine, engine: ProbedEngine) -> None:
    probe = DeviceProbe(replace(engine, backends={}))
    assert probe.devices() == probe.devices() == ()
    assert len(scripted.log("probe")) == 1


def test_an_engine_that_cannot_be_asked_has_no_gpus(engine: ProbedEngine, tmp_path: Path) -> None:
    assert DeviceProbe(replace(engine, argv_prefix=(str(tmp_path / "missing"),))).devices() == ()
    assert DeviceProbe(replace(engine, argv_prefix=("/bin/false",))).devices() == ()


def test_variables_that_hide_gpus_are_warned_of_once(
    scripted: ScriptedEngine, engine: ProbedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    pretend(scripted, {"index": 0, "cc": "8.9", "variant": "cuda_v13"})
    probe = DeviceProbe(replace(engine, environ={**engine.environ, "HSA_OVERRIDE_GFX_VERSION": "10.3.0"}))
    assert probe.devices()
    assert probe.devices()
    told = [record for record in caplog.records if "hidden by variables" in record.message]
    assert [vars(record)["HSA_OVERRIDE_GFX_VERSION"] for record in told] == ["10.3.0"]
