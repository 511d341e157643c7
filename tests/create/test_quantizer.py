"""Runs of llama-quantize: its command line, what it tells, how it fails and how it is stopped."""

from __future__ import annotations

import asyncio
import os
import subprocess
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.create.errors import CreateFailed, QuantizerFailed, QuantizerUnavailable
from orchestrator.create.quantizer import Quantizer, QuantizerRun, run_quantizer, source_file, written_by
from orchestrator.domain.progress import Progress
from orchestrator.errors import StoreError
from orchestrator.store.errors import DiskFull
from tests.create.stand_in_quantizer import COPYING, command_lines, stand_in_quantizer
from tests.gguf_builder import Tensor, build_gguf

VALIDATING = "failed to validate GGUF with llama-quantize without compatibility patches: "
MARKS = 'for n in 1 2 3 4; do echo "[   $n/   4] blk.0.attn_q.weight - [ 32, 32], size = 1 MiB"; done'


@pytest.fixture
def run(tmp_path: Path) -> QuantizerRun:
    """A copy of a small model, 400 bytes as far as is told."""
    model = tmp_path / "model"
    model.write_bytes(build_gguf({"general.architecture": "llama"}, [Tensor("a.weight", (4,))]))
    return QuantizerRun(
        quantizer=stand_in_quantizer(tmp_path),
        source=model,
        target=tmp_path / "out",
        status="validating GGUF model",
        total_bytes=400,
        needed_bytes=0,
    )


async def doing(run: QuantizerRun, body: str) -> QuantizerRun:
    """``run`` with a program that does something else."""
    folder = run.quantizer.program.parent
    return replace(run, quantizer=await asyncio.to_thread(stand_in_quantizer, folder, body))


async def steps_of(run: QuantizerRun) -> list[Progress]:
    return [step async for step in run_quantizer(run)]


async def test_a_copy_is_asked_for_and_made(run: QuantizerRun) -> None:
    assert await steps_of(run) == []
    assert run.target.read_bytes() == run.source.read_bytes()
    assert command_lines(run.quantizer) == [["--allow-requantize", str(run.source), str(run.target), "COPY"]]
    written = await asyncio.to_thread(written_by, run)
    assert written.header.tensors[0].name == "a.weight"


async def test_overrides_stand_before_the_files(run: QuantizerRun) -> None:
    await steps_of(replace(run, type="Q4_K_M", overrides=("^a$=f16", "b=q8_0")))
    (words,) = command_lines(run.quantizer)
    assert words[:5] == ["--allow-requantize", "--tensor-type", "^a$=f16", "--tensor-type", "b=q8_0"]
    assert words[5:] == [str(run.source), str(run.target), "Q4_K_M"]


@pytest.mark.parametrize(("told_bytes", "told"), [(0, [100, 200, 300, 400]), (150, [200, 400]), (500, [])])
@pytest.mark.parametrize("where", ["", " >&2"])
async def test_marks_in_its_output_are_progress(
    run: QuantizerRun, where: str, told_bytes: int, told: list[int]
) -> None:
    marking = await doing(run, f"({MARKS}){where}; {COPYING}")
    steps = await steps_of(replace(marking, told_bytes=told_bytes))
    assert steps == [Progress("validating GGUF model", "0" * 19, 400, done) for done in told]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("exit 1", "exit status 1"),
        ("exit 3", "exit status 3"),
        ("kill -ABRT $$", "signal: aborted"),
        ("kill -KILL $$", "signal: killed"),
    ],
)
async def test_its_failure_is_told_as_the_shell_would(run: QuantizerRun, body: str, reason: str) -> None:
    failing = await doing(run, f"echo 'invalid n_rot: 16, expected 32' >&2; {body}")
    with pytest.raises(QuantizerFailed) as validating:
        await steps_of(failing)
    assert str(validating.value) == f"{VALIDATING}llama-quantize failed: {reason}"
    assert validating.value.last_words == "invalid n_rot: 16, expected 32\n"
    assert "invalid n_rot" in (validating.value.hint or "")
    with pytest.raises(QuantizerFailed) as quantizing:
        await steps_of(replace(failing, type="Q8_0"))
    assert str(quantizing.value) == f"llama-quantize failed: {reason}"


async def test_a_failure_on_a_full_disk_is_told_as_that(run: QuantizerRun) -> None:
    failing = await doing(run, 'printf 12345 > "$2"; exit 1')
    with pytest.raises(DiskFull, match="no space left on device") as full:
        await steps_of(replace(failing, needed_bytes=1 << 62))
    assert full.value.needed_bytes == (1 << 62) - 5


async def test_a_program_that_cannot_be_started_is_unavailable(run: QuantizerRun) -> None:
    run.quantizer.program.chmod(0o644)
    with pytest.raises(QuantizerUnavailable) as refused:
        await steps_of(replace(run, type="Q8_0"))
    assert str(refused.value) == "llama-quantize unavailable: permission denied"
    run.quantizer.program.unlink()
    with pytest.raises(CreateFailed) as absent:
        await steps_of(run)
    assert str(absent.value) == f"{VALIDATING}llama-quantize unavailable: no such file or directory"


async def test_one_that_hangs_is_ended_with_the_work(run: QuantizerRun) -> None:
    hanging = await doing(run, "trap '' TERM; echo '[ 1/ 2]'; echo $$ > \"$2\"; exec tail -f /dev/null")
    async with aclosing(run_quantizer(hanging)) as running:
        assert (await anext(running)).completed_bytes == 200
    with pytest.raises(ProcessLookupError):
        os.kill(int(run.target.read_text()), 0)


async def test_what_it_has_written_must_be_a_model(run: QuantizerRun) -> None:
    writing = await doing(run, 'echo hello > "$2"')
    await steps_of(writing)
    with pytest.raises(QuantizerFailed, match=f"^{VALIDATING}llama-quantize failed: what it wrote"):
        await asyncio.to_thread(written_by, writing)
    run.target.unlink()
    with pytest.raises(StoreError, match="no such file or directory"):
        await asyncio.to_thread(written_by, run)


def test_libraries_beside_the_program_come_first(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    link = tmp_path / "llama-quantize"
    link.symlink_to(stand_in_quantizer(folder).program)
    environ = {"LD_LIBRARY_PATH": f"/mine:{folder}", "X": "1"}
    quantizer = Quantizer.at(link, environ)
    assert (quantizer.program, quantizer.library_dir) == (link, folder)
    assert quantizer.environ == {"LD_LIBRARY_PATH": f"{folder}:/mine", "X": "1"}


def test_shards_get_the_names_by_which_they_are_found(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "ba"]
    for path in paths:
        path.write_text(path.name)
    with source_file(paths[:1], tmp_path) as alone:
        assert alone == paths[0]
    with source_file(paths, tmp_path) as first:
        assert first.name == "model-00001-of-00002.gguf"
        assert [path.read_text() for path in sorted(first.parent.iterdir())] == ["b", "a"]
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_shards_that_are_not_there_are_told_of(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "a"
    with pytest.raises(StoreError, match="^link "), source_file([missing, missing], missing):
        pytest.fail("there is nothing to name")


def test_the_stand_in_is_a_real_program(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x")
    quantizer = stand_in_quantizer(tmp_path)
    subprocess.run(
        [quantizer.program, "--tensor-type", "a=f16", "in", "out", "COPY"], cwd=tmp_path, check=True
    )
    assert (tmp_path / "out").read_text() == "x"
