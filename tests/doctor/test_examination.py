from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.doctor.examination import Examination, Trial, examine, version_of
from orchestrator.doctor.report import report
from orchestrator.domain.devices import Device
from orchestrator.runners.engines import embedded_engine, native_engine


def script(folder: Path, text: str) -> Path:
    path = folder / "llama-server"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_an_engine_that_does_not_start_is_told_with_its_words(tmp_path: Path) -> None:
    engine = native_engine(script(tmp_path, "echo 'error: no such library' >&2; exit 127"))
    found = examine(engine, {})
    assert not found.serves
    assert found.version == ""
    text = report(found)
    assert "version    it does not say" in text
    assert "trial      FAILED: llama-server process has terminated: " in text
    assert "error: no such library" in text


def test_a_version_is_the_line_that_names_it(tmp_path: Path) -> None:
    engine = native_engine(script(tmp_path, "echo 'noise'; echo 'version: 9 (build 7)' >&2"))
    assert version_of(engine, {}) == "9 (build 7)"
    assert version_of(native_engine(script(tmp_path, "exit 1")), {}) == ""


def test_the_library_that_was_chosen_for_the_processor_is_told(tmp_path: Path) -> None:
    chosen = tmp_path / "libggml-cpu-haswell.so"
    for name in (chosen.name, "libggml-cpu-x64.so", "libggml-base.so"):
        (tmp_path / name).touch()
    engine = native_engine(
        script(tmp_path, f"echo 'load_backend: loaded CPU backend from {chosen}' >&2; exit 1")
    )
    found = examine(engine, {})
    assert found.processor == chosen
    assert "processor  haswell, chosen of 2\n" in report(found)


def test_a_report_has_a_line_for_each_fact(tmp_path: Path) -> None:
    engine = replace(
        native_engine(script(tmp_path, "exit 0")),
        patches=frozenset({"0002-b.patch", "0001-a.patch"}),
        backends={tmp_path / "cuda": tmp_path / "cuda/libggml-cuda.so"},
    )
    device = Device("CUDA", "0", "CUDA0", "Card", total_bytes=8 << 30, free_bytes=7 << 30)
    found = Examination(engine, "9", (device,), None, Trial(70, 4))
    assert report(found).splitlines() == [
        f"engine     native: {tmp_path / 'llama-server'}",
        "version    9",
        f"libraries  {tmp_path}",
        "patches    0001-a.patch, 0002-b.patch",
        "variants   cuda",
        "schemas    read by the engine",
        "quantizer  none, K types need `orch engine build`",
        "device     CUDA0 Card, 7168 of 8192 MiB free",
        "trial      a tiny model loaded in 70 ms and answered 4 tokens",
    ]


def test_the_wheel_is_examined_too() -> None:
    found = Examination(embedded_engine(), "1", (), None, None, "it is tired")
    assert "engine     embedded: " in report(found)
    assert "devices    CPU only" in report(found)
    assert "trial      FAILED: it is tired" in report(found)
