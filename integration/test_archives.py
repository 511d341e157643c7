"""A model carried to a machine without network: exported from one daemon, imported into another, and run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from ollama import Client

from tests.http_replay.daemon import Daemon, daemon_process
from tests.sample_models import smollm2

pytestmark = pytest.mark.timeout(300)

ORCH = [sys.executable, "-m", "orchestrator.cli"]
TIMEOUT_S = 200


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with a model."""
    with daemon_process(tmp_path_factory.mktemp("here")) as daemon:
        with closing(Client(f"http://{daemon.server.address}")) as client:
            digest = client.create_blob(smollm2())
            client.create("lib/smol:v1", files={"smol.gguf": digest}, parameters={"num_predict": 8})
        yield daemon


@contextmanager
def elsewhere(folder: Path) -> Iterator[Daemon]:
    """A daemon without models."""
    folder.mkdir()
    with daemon_process(folder) as daemon:
        yield daemon


def environment(daemon: Daemon) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(daemon.log.parent),
        "OLLAMA_HOST": daemon.server.address,
    }


def orch(daemon: Daemon, folder: Path, *words: str) -> str:
    done = subprocess.run(
        [*ORCH, *words],
        env=environment(daemon),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_runs_where_it_was_carried_to(here: Daemon, tmp_path: Path) -> None:
    orch(here, tmp_path, "export", "lib/smol:v1")
    assert [path.name for path in tmp_path.iterdir()] == ["smol-v1.tar"]
    with elsewhere(tmp_path / "elsewhere") as there:
        assert orch(there, tmp_path, "import", "smol-v1.tar") == "imported 'lib/smol:v1'\n"
        assert orch(there, tmp_path, "verify").endswith(": all right\n")
        assert orch(there, tmp_path, "show", "lib/smol:v1") == orch(here, tmp_path, "show", "lib/smol:v1")
        assert orch(there, tmp_path, "run", "lib/smol:v1", "Say hi").strip()


def test_a_pipe_is_a_way_too(here: Daemon, tmp_path: Path) -> None:
    with elsewhere(tmp_path / "elsewhere") as there:
        with subprocess.Popen(
            [*ORCH, "export", "lib/smol:v1", "-"], env=environment(here), stdout=subprocess.PIPE
        ) as exporting:
            imported = subprocess.run(
                [*ORCH, "import", "-"],
                env=environment(there),
                stdin=exporting.stdout,
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
            )
        assert (exporting.returncode, imported.returncode) == (0, 0), imported.stderr
        assert imported.stdout == "imported 'lib/smol:v1'\n"


def test_a_model_with_damage_is_not_carried_on(here: Daemon, tmp_path: Path) -> None:
    with elsewhere(tmp_path / "elsewhere") as there:
        orch(here, tmp_path, "export", "lib/smol:v1", "smol.tar")
        orch(there, tmp_path, "import", "smol.tar")
        blobs = (there.log.parent / "models" / "blobs").iterdir()
        with max(blobs, key=lambda path: path.stat().st_size).open("r+b") as file:
            file.seek(1_000_000)
            file.write(b"not what was there")
        failed = subprocess.run(
            [*ORCH, "export", "lib/smol:v1", "copy.tar"],
            env=environment(there),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    assert failed.returncode == 1
    assert "Error: export of lib/smol:v1 broke off before its end\n" in failed.stderr
    assert not (tmp_path / "copy.tar").exists()
