"""Debian's ``docker-registry`` on a loopback port, with or without passwords."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.http_replay.daemon import free_port

PROGRAM = "docker-registry"
USER, PASSWORD = "owl", "a secret: ü"

_START_TIMEOUT_S = 60.0
_POLL_S = 0.02


@contextmanager
def docker_registry(folder: Path, *, has_password: bool = False) -> Iterator[str]:
    """Host and port of a registry that keeps what it is given in ``folder``; skips where there is none."""
    program = _needed(PROGRAM)
    address = f"127.0.0.1:{free_port()}"
    settings = _SETTINGS.format(folder=folder / "registry", address=address)
    if has_password:
        settings += _PASSWORDS.format(file=_passwords(folder))
    path = folder / "registry.yml"
    path.write_text(settings)
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen([program, "serve", path], stdout=log, stderr=log, start_new_session=True)
    try:
        _wait_until_it_answers(process, address, folder / "registry.log")
        yield address
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


def _wait_until_it_answers(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + _START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return
        time.sleep(_POLL_S)  # another program; it tells nobody but the port
    raise AssertionError(f"{PROGRAM} did not come up: {log.read_text(errors='replace')[-2000:]}")
