"""A daemon's engine is not pruned away under it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.llama_cpp.cache import BuildCache, BuildFacts
from tests.http_replay.daemon import daemon_process

pytestmark = pytest.mark.timeout(120)


def old_build(cache: BuildCache) -> Path:
    """The program of a build of other patches."""
    made = cache.work("b1-cpu-1") / "made"
    program = made / "lib/orch/llama-server"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    return cache.keep("b1-cpu-1", made, BuildFacts("b1", "cpu", "old", "git", (), 1)).library / program.name


def test_a_build_that_a_daemon_uses_stays_until_it_has_ended(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    program = old_build(BuildCache.of(environ))

    def prune() -> str:
        command = [sys.executable, "-m", "orchestrator.cli", "engine", "prune", "--yes"]
        return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout

    with daemon_process(tmp_path, {"ORCH_LLAMA_SERVER": str(program)}):
        assert "b1-cpu-1 stays: a daemon or a build has it\nremoved 0 items, 0 B\n" in prune()
        assert program.exists()
    assert "removed 1 item" in prune()
    assert not program.exists()
