"""Programs that can reach one server and nothing else: no other machine, no other program of this one.

They run in a network namespace of their own, whose loopback has one port. The socket behind it is handed out
of the namespace; what comes in there is carried to the server.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.http_replay.transport import Server

PORT = 11434
"""Where the server is for the program: Ollama's own place."""

_INSIDE = Path(__file__).parent / "agents/inside.py"
_UNSHARE = ("unshare", "--net", "--map-root-user")
_PIECE = 1 << 16


def run_confined(
    argv: Sequence[str],
    server: Server,
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout_s: float,
) -> subprocess.CompletedProcess[str]:
    """Run ``argv`` in ``folder`` to its end. Skips where there are no network namespaces.

    Raises ``subprocess.TimeoutExpired``.
    """
    if shutil.which(_UNSHARE[0]) is None or subprocess.run([*_UNSHARE, "true"], check=False).returncode:
        pytest.skip("no network namespace can be made here (unshare --net)")
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            inside = [sys.executable, "-I", str(_INSIDE), str(theirs.fileno()), str(PORT), *argv]
            process = subprocess.Popen(
                [*_UNSHARE, *inside],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        with process, _door(ours, server):
            try:
                output, errors = process.communicate(timeout=timeout_s)
            finally:  # what it has started ends with it
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(argv, process.returncode, output, errors)


@contextmanager
def _door(ours: socket.socket, server: Server) -> Iterator[None]:
    """Carry what comes in at the socket that is handed out through ``ours``, until the end of the block."""
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if not descriptors:  # the program died before; its last words tell why
        yield
        return
    with socket.socket(fileno=descriptors[0]) as listener:
        keeper = Thread(target=_keep, args=(listener, server))
        keeper.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            keeper.join()


def _keep(listener: socket.socket, server: Server) -> None:
    """Let guests in until the door is shut."""
    with suppress(OSError):
        while True:
            guest, _ = listener.accept()
            Thread(target=_carry_both_ways, args=(guest, server), daemon=True).start()


def _carry_both_ways(guest: socket.socket, server: Server) -> None:
    with guest, socket.create_connection((server.host, server.port)) as host:
        back = Thread(target=_carry, args=(host, guest), daemon=True)
        back.start()
        _carry(guest, host)
        back.join()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
