"""Debian's ``docker-registry`` on a loopback port, with or without passwords."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.http_replay.daemon import comes_up, free_port
from tests.http_replay.transport import Server

PROGRAM = "docker-registry"
USER, PASSWORD = "owl", "a secret: ü"

_START_TIMEOUT_S = 60.0


@contextmanager
def docker_registry(folder: Path, *, has_password: bool = False) -> Iterator[str]:
    """Host and port of a registry that keeps what it is given in ``folder``; skips where there is none."""
    program = _needed(PROGRAM)
    server = Server("127.0.0.1", free_port())
    settings = _SETTINGS.format(folder=folder / "registry", address=server.address)
    if has_password:
        settings += _PASSWORDS.format(file=_passwords(folder))
    path = folder / "registry.yml"
    path.write_text(settings)
    log = folder / "registry.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "serve", path], stdout=output, stderr=output, start_new_session=True
        )
    try:
        assert comes_up(process, server, within_s=_START_TIMEOUT_S), log.read_text(errors="replace")[-2000:]
        yield server.address
    finally:
        process.terminate()
        process.wait(30)


_SETTINGS = """
version: 0.1
log: {{level: warn}}
storage:
  filesystem: {{rootdirectory: {folder}}}
http: {{addr: {address}}}
"""
_PASSWORDS = """
auth:
  htpasswd: {{realm: loopback, path: {file}}}
"""


def _passwords(folder: Path) -> Path:
    made = subprocess.run(
        [_needed("htpasswd"), "-Bbn", USER, PASSWORD], capture_output=True, text=True, check=True
    )
    path = folder / "passwords"
    path.write_text(made.stdout)
    return path


def _needed(program: str) -> str:
    if (found := shutil.which(program)) is None:
        pytest.skip(f"{program} is not installed (Debian: apt-get install docker-registry apache2-utils)")
    return found
