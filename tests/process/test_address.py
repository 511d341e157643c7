from __future__ import annotations

import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.process.address import (
    MAX_SOCKET_PATH_BYTES,
    RunDirectoryUnusable,
    TcpAddress,
    UnixAddress,
    free_port,
    run_directory,
)

DAEMON = """
import sys
from pathlib import Path
from orchestrator.process.address import run_directory
with run_directory(Path(sys.argv[1])) as directory:
    directory.new_address().path.touch()
    (directory.path / "weights-1-00001-of-00002.gguf").symlink_to(sys.argv[0])
    print(directory.path, flush=True)
    sys.stdin.read()
"""


def daemon(base: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process with a run directory of its own, and that directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_directory_is_private_and_goes_away(tmp_path: Path) -> None:
    with run_directory(tmp_path / "orch") as directory:
        assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "orch").stat().st_mode) == 0o700
    assert not directory.path.exists()


def test_each_runner_gets_a_socket_of_its_own(tmp_path: Path) -> None:
    with run_directory(tmp_path) as directory:
        first, second = directory.new_address(), directory.new_address()
        assert isinstance(first, UnixAddress)
        assert first != second
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(first))
        directory.release(first)
        assert not first.path.exists()
        directory.release(first)


def test_a_path_too_long_for_a_socket_gives_a_port(tmp_path: Path) -> None:
    with run_directory(tmp_path / ("x" * MAX_SOCKET_PATH_BYTES)) as directory:
        address = directory.new_address()
        assert isinstance(address, TcpAddress)
        assert str(address) == f"127.0.0.1:{address.port}"
        directory.release(address)


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server(("127.0.0.1", free_port())):
        pass


def test_what_a_killed_daemon_left_is_removed_but_a_living_one_keeps_its_sockets(tmp_path: Path) -> None:
    dead, left_behind = daemon(tmp_path)
    living, in_use = daemon(tmp_path)
    with dead, living:
        dead.kill()
        dead.wait()
        assert (left_behind / "1.sock").exists()
        with run_directory(tmp_path):
            assert not left_behind.exists()
            assert (in_use / "1.sock").exists()
        living.communicate()
    assert not in_use.exists()


def test_what_others_put_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "orch-notes").mkdir()
    (tmp_path / "orch-notes" / "keep.txt").touch()
    with run_directory(tmp_path):
        pass
    assert (tmp_path / "orch-notes" / "keep.txt").exists()


def test_a_directory_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(RunDirectoryUnusable, match="other users"), run_directory(tmp_path):
        pass


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RunDirectoryUnusable, match="cannot keep sockets in"),
        run_directory(tmp_path / "file"),
    ):
        pass
