"""Where a runner listens: a Unix socket in a directory of this daemon alone, or a loopback port.

::

    <base>/            mode 0700, one per user
      lock             held while directories are made and swept
      orch-<random>/   one per daemon
        lock           held as long as the daemon lives; free means that the directory is a leftover
        1.sock         the socket of a runner
        *.gguf         links by which a runner finds files whose names it could not take
"""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import OrchestratorError, reason_of

LOOPBACK = "127.0.0.1"
MAX_SOCKET_PATH_BYTES = 107 if sys.platform == "linux" else 103
"""What a socket address holds, without the final zero byte."""

_PREFIX = "orch-"
_LOCK = "lock"


class RunDirectoryUnusable(OrchestratorError):
    """The directory for sockets cannot be made, or is open to others."""

    hint = "set ORCH_RUN_DIR to a directory that only this user can enter"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket file. Whoever listens makes it; it is removed with its directory."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A port of the loopback interface."""

    port: int
    host: str = LOOPBACK

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


Address = UnixAddress | TcpAddress


class RunDirectory:
    """The directory of one living daemon. Made by ``run_directory``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers = itertools.count(1)

    def new_address(self) -> Address:
        """An address nobody uses: a socket, or a free port where the path would be too long for one."""
        path = self.path / f"{next(self._numbers)}.sock"
        if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
            return TcpAddress(free_port())
        return UnixAddress(path)

    def release(self, address: Address) -> None:
        """Remove what a runner left at ``address``."""
        if isinstance(address, UnixAddress):
            address.path.unlink(missing_ok=True)


@contextmanager
def run_directory(base: Path) -> Iterator[RunDirectory]:
    """A new private directory below ``base``; what dead daemons left there is removed first.

    Raises ``RunDirectoryUnusable``.
    """
    with ExitStack() as stack:
        try:
            _make_private(base)
            with _locked(base / _LOCK):
                _sweep(base)
                path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
                stack.callback(_remove, path)
                stack.enter_context(_locked(path / _LOCK))
        except OSError as error:
            raise RunDirectoryUnusable(f"cannot keep sockets in {base}: {reason_of(error)}") from error
        yield RunDirectory(path)


def free_port() -> int:
    """A loopback port that was free a moment ago; another process may still take it first."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _make_private(base: Path) -> None:
    """Make ``base`` unless it is there; nobody else may be able to put files into it."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = base.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise RunDirectoryUnusable(f"cannot keep sockets in {base}: other users can write to it")


def _sweep(base: Path) -> None:
    """Remove the directories of daemons that no longer live."""
    for path in base.glob(f"{_PREFIX}*"):
        with suppress(BlockingIOError, FileNotFoundError), _locked(path / _LOCK, wait=False):
            _remove(path)


def _remove(path: Path) -> None:
    """Remove a daemon's directory: sockets, links and lock, nothing that we did not put there."""
    links = (file for file in path.iterdir() if file.is_symlink())
    for file in (*path.glob("*.sock"), *links, path / _LOCK):
        file.unlink(missing_ok=True)
    with suppress(OSError):
        path.rmdir()


@contextmanager
def _locked(file: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock on ``file``; it ends with the process. Raises ``BlockingIOError`` unless waiting."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
