"""Finding the command, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator import OLLAMA_VERSION
from tests.cli.conftest import Orch
from tests.native_server import NativeServer

OWN = OLLAMA_VERSION

HEAVY = {"aiohttp", "pydantic", "prompt_toolkit", "numpy", "rich", "jinja2", "uvloop", "gguf", "PIL"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nosuch"], 'unknown command "nosuch" for "orch"'),
        (['no"such\n'], r'unknown command "no\"such\n" for "orch"'),
        (["nosuch", "--help"], 'unknown command "nosuch" for "orch"'),
        (["--nosuch"], "unknown flag: --nosuch"),
        (["-v", "list"], "unknown shorthand flag: 'v' in -v"),
        (["list", "--version"], "unknown flag: --version"),
        (["run", "--help", "--nosuch"], "unknown flag: --nosuch"),
        (["--", "list"], 'unknown command "list" for "orch"'),
        (["cp", "a"], "accepts 2 arg(s), received 1"),
    ],
)
def test_a_wrong_line_is_one_error_and_status_1(orch: Orch, words: list[str], complaint: str) -> None:
    printed = orch(*words)
    assert (printed.status, printed.out) == (1, "")
    assert printed.err.startswith(f"Error: {complaint}\n")


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"], ["help"]])
def test_the_programs_help_can_be_asked_for_in_many_ways(orch: Orch, words: list[str]) -> None:
    printed = orch(*words)
    assert (printed.status, printed.err) == (0, "")
    assert "Available Commands:" in printed.out


@pytest.mark.parametrize("words", [["run", "-h"], ["--help", "run"], ["help", "run"], ["run", "--help", "x"]])
def test_a_commands_help_can_be_asked_for_in_many_ways(orch: Orch, words: list[str]) -> None:
    printed = orch(*words)
    assert (printed.status, printed.err) == (0, "")
    assert "orch run MODEL [PROMPT] [flags]" in printed.out


def test_the_version_is_the_servers(orch: Orch, server: NativeServer) -> None:
    server.says("GET /api/version", {"version": OWN})
    assert orch("--version").out == f"orch version is {OWN}\n"


def test_what_is_no_such_server_is_told(orch: Orch, server: NativeServer) -> None:
    server.says("GET /api/tags", b"<html>welcome</html>")
    server.says("GET /api/version", b"<html>welcome</html>")
    assert orch("list").err == "Error: unexpected answer: <html>welcome</html>\n"
    assert orch("-v").out.startswith("Warning: could not connect to a running orch instance\n")


@pytest.mark.parametrize(("setting", "is_signed"), [("1", True), ("0", False), ("", False)])
def test_requests_are_signed_where_that_is_wanted(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch, setting: str, is_signed: bool
) -> None:
    monkeypatch.setenv("OLLAMA_AUTH", setting)
    server.says("GET /api/tags", {"models": []})
    orch("list")
    assert {"Authorization" in asked.headers for asked in server.requests} == {is_signed}


def test_another_version_is_told_apart(orch: Orch, server: NativeServer) -> None:
    server.says("GET /api/version", {"version": "9.9"})
    assert orch("-v").out == f"orch version is 9.9\nWarning: client version is {OWN}\n"


def test_without_a_server_the_version_is_our_own(orch: Orch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    printed = orch("-v")
    assert printed.status == 0
    assert printed.out == (
        f"Warning: could not connect to a running orch instance\nWarning: client version is {OWN}\n"
    )


def test_without_a_server_commands_say_how_to_start_one(orch: Orch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    printed = orch("list")
    assert printed.status == 1
    assert printed.err == "Error: could not connect to orch server, run 'orch serve' to start it\n"


def test_an_address_that_cannot_be_is_warned_of(orch: Orch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:99999")
    assert orch("--version").err.startswith("Warning: OLLAMA_HOST='127.0.0.1:99999' is not usable: ")


def test_output_that_nobody_reads_is_no_disaster(server: NativeServer) -> None:
    rows = [
        {"name": f"m{n}", "digest": "0" * 64, "size": 1, "modified_at": "2024-01-01T00:00:00Z"}
        for n in range(3000)
    ]
    server.says("GET /api/tags", {"models": rows})
    command = f"{sys.executable} -m orchestrator.cli list | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=30)
    assert (done.stderr, done.stdout.split()[0]) == ("", "NAME")


@pytest.mark.parametrize(
    "words", [["--help"], ["list", "--help"], ["--version"], ["list"], ["run", "--help"]]
)
def test_common_commands_import_nothing_heavy(server: NativeServer, words: list[str], tmp_path: Path) -> None:
    server.says("GET /api/tags", {"models": []})
    server.says("GET /api/version", {"version": OWN})
    program = (
        "import sys\nfrom orchestrator.cli.program import main\n"
        f"assert main({words!r}) == 0\n"
        f"print(*sorted({HEAVY!r} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stderr.strip() == ""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_fault(server: NativeServer, closed: str) -> None:
    server.says("POST /api/show", {"capabilities": ["completion"]})
    server.says("POST /api/generate", {"response": "Sky", "done": True})
    program = [sys.executable, "-m", "orchestrator.cli", "run", "m", "Why?"]
    ended = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    told = "" if ">&-" in closed.split() else "Sky\n\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, told, "")
    assert server.asked("POST /api/generate") == [{"model": "m", "prompt": "Why?"}]
