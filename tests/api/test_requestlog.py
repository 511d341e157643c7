"""Files of requests, to be sent again."""

from __future__ import annotations

import json
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

from orchestrator.api.requestlog import RequestLog
from orchestrator.api.state import AppState
from tests.api.conftest import serving

BODY = b'{"model":"owlet","prompt":"it\'s"}'


def test_a_log_has_a_directory_of_its_own() -> None:
    log = RequestLog.create("http://127.0.0.1:1")
    assert log.directory.name.startswith("ollama-request-logs-")
    assert stat.S_IMODE(log.directory.stat().st_mode) == 0o700
    log.directory.rmdir()


def test_a_request_gives_two_private_files(tmp_path: Path) -> None:
    log = RequestLog(tmp_path, "http://127.0.0.1:1")
    log.write("/v1/chat/completions", BODY, {})
    log.write("/api/chat", b"", {"Content-Type": "text/plain"})
    names = sorted(path.name.split("-", 1)[1] for path in tmp_path.iterdir())
    assert names == [
        "000001_v1_chat_completions_body.json",
        "000001_v1_chat_completions_request.sh",
        "000002_api_chat_body.json",
        "000002_api_chat_request.sh",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_the_script_is_good_shell(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "it's", "http://127.0.0.1:1")
    log.directory.mkdir()
    log.write("/api/chat", BODY, {})
    script = next(log.directory.glob("*.sh"))
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert "/api/chat" in script.read_text()


async def test_calls_that_generate_are_kept_and_others_not(state: AppState, tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "log", "http://127.0.0.1:1")
    log.directory.mkdir()
    async with serving(replace(state, request_log=log)) as client:
        async with client.post("/api/generate", data=BODY) as reply:
            assert reply.status == 404
        async with client.post("/api/show", data=BODY) as reply:
            assert reply.status == 404
    (kept,) = log.directory.glob("*_body.json")
    assert json.loads(kept.read_bytes()) == json.loads(BODY)
