from __future__ import annotations

import inspect
import re
from pathlib import Path

from orchestrator.doctor.contract import FLAGS, check, flags_of
from orchestrator.runners.engines import native_engine
from orchestrator.runners.llama import launch


def test_every_flag_of_a_launch_plan_is_asked_for() -> None:
    literals = set(re.findall(r'"(--?[a-z][a-z-]*)"', inspect.getsource(launch)))
    assert literals == set(FLAGS)


def script(folder: Path, text: str) -> Path:
    path = folder / "llama-server"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_flags_of_an_engine_are_those_it_tells(tmp_path: Path) -> None:
    path = script(tmp_path, "echo '-c,    --ctx-size N    size (see --fit-ctx, non-zero)'")
    assert flags_of(native_engine(path), {}) == {"-c", "--ctx-size", "--fit-ctx"}


def test_everything_that_another_program_lacks_is_found(tmp_path: Path) -> None:
    path = script(tmp_path, "echo 'error: this is something else' >&2; exit 3")
    findings = list(check(native_engine(path), {}))
    assert not any(finding.holds for finding in findings)
    problems = {finding.subject: finding.problem for finding in findings}
    assert problems["flag --fit"] == "it is not in --help"
    assert problems["a file that is no model is told"] == "exit status 3, not 1"
    assert "something else" in problems["it starts with a planned command line"]
