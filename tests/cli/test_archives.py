"""``orch export`` and ``orch import``."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.cli.conftest import Orch
from tests.native_server import NativeServer, stalling_server

ARCHIVE = bytes(range(256)) * 50
TAKEN = {"status": "success", "models": ["owl:latest", "fox:v1"]}


class Binary:
    """A text stream over bytes, that nobody sits at."""

    def __init__(self, content: bytes = b"") -> None:
        self.buffer = io.BytesIO(content)
        self.written = b""

    def isatty(self) -> bool:
        return False

    def flush(self) -> None:
        self.written = self.buffer.getvalue()


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_model_goes_to_a_file_of_its_name(orch: Orch, server: NativeServer, tmp_path: Path) -> None:
    server.says("POST /api/export", ARCHIVE[:-1])  # the server of the tests ends what it says with a newline
    printed = orch("export", "lib/owl:v1")
    assert printed.status == 0
    assert (tmp_path / "owl-v1.tar").read_bytes() == ARCHIVE[:-1] + b"\n"
    assert printed.err.startswith("exporting lib/owl:v1: 100% ▕")
    assert server.asked("POST /api/export") == [{"model": "lib/owl:v1"}]


def test_a_model_goes_to_a_named_file(orch: Orch, server: NativeServer, tmp_path: Path) -> None:
    server.says("POST /api/export", ARCHIVE)
    (tmp_path / "x.tar").write_bytes(b"old")
    assert orch("export", "owl", "x.tar").status == 0
    assert (tmp_path / "x.tar").read_bytes() == ARCHIVE + b"\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "x.tar"]


def test_a_model_goes_to_standard_output(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.says("POST /api/export", ARCHIVE)
    out = Binary()
    monkeypatch.setattr(sys, "stdout", out)
    orch("export", "owl", "-")
    assert out.written == ARCHIVE + b"\n"


def test_a_failed_export_leaves_the_old_file(orch: Orch, server: NativeServer, tmp_path: Path) -> None:
    server.says("POST /api/export", {"error": "model 'owl:latest' not found"}, status=404)
    (tmp_path / "owl-latest.tar").write_bytes(b"old")
    printed = orch("export", "owl")
    assert (printed.status, printed.err.strip()) == (1, "Error: model 'owl:latest' not found")
    assert (tmp_path / "owl-latest.tar").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_place_that_cannot_be_written_is_told(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/export", ARCHIVE)
    assert orch("export", "owl", "no/such/x.tar").err.endswith(
        "Error: write no/such/x.tar: no such file or directory\n"
    )


def test_a_file_is_sent_and_its_models_are_named(orch: Orch, server: NativeServer, tmp_path: Path) -> None:
    (tmp_path / "owl.tar").write_bytes(ARCHIVE)
    server.says("POST /api/import", {"status": "writing manifest"}, TAKEN)
    printed = orch("import", "owl.tar")
    assert printed.out == "imported 'owl:latest'\nimported 'fox:v1'\n"
    bar, *statuses = printed.err.splitlines()
    assert bar.startswith("importing owl.tar: 100% ▕")
    assert statuses == ["writing manifest", "success"]
    (sent,) = (request for request in server.requests if request.method == "POST")
    assert sent.body == ARCHIVE
    assert sent.headers["Content-Type"] == "application/x-tar"


def test_an_archive_can_come_by_standard_input(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.says("POST /api/import", TAKEN)
    (tmp_path / "owl.tar").write_bytes(ARCHIVE)
    with (tmp_path / "owl.tar").open() as source:
        monkeypatch.setattr(sys, "stdin", source)
        assert orch("import", "-").status == 0
    assert next(request for request in server.requests if request.method == "POST").body == ARCHIVE


def test_a_file_that_is_not_there_is_told(orch: Orch, server: NativeServer) -> None:
    assert orch("import", "absent.tar").err == "Error: open absent.tar: no such file or directory\n"


def test_a_refused_archive_is_told(orch: Orch, server: NativeServer, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    error = "the archive is refused: it is no tar archive"
    server.says("POST /api/import", {"error": error}, status=400)
    assert orch("import", "x").err.endswith(f"Error: 400 Bad Request: {error}\n")


@pytest.mark.parametrize("words", [("export",), ("export", "a", "b", "c")])
def test_one_or_two_words_are_taken(orch: Orch, words: tuple[str, ...]) -> None:
    printed = orch(*words)
    assert printed.err == f"Error: accepts between 1 and 2 arg(s), received {len(words) - 1}\n"


def test_a_file_appears_only_when_it_is_complete(
    orch: Orch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with server_that_breaks_off() as url:
        monkeypatch.setenv("OLLAMA_HOST", url)
        printed = orch("export", "owl")
    assert printed.status == 1
    assert printed.err.endswith("Error: export of owl broke off before its end\n")
    assert not list(tmp_path.iterdir())


def test_whoever_interrupts_an_export_finds_no_file(tmp_path: Path) -> None:
    with stalling_server(ARCHIVE, length=2 * len(ARCHIVE)) as (url, asked):
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", "export", "owl"],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OLLAMA_HOST": url},
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
        )
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert not list(tmp_path.iterdir())


@contextmanager
def server_that_breaks_off() -> Iterator[str]:
    """Sends half of the archive it announces."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(ARCHIVE)))
            self.end_headers()
            self.wfile.write(ARCHIVE[: len(ARCHIVE) // 2])

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()
