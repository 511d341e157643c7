from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.process.address import UnixAddress
from orchestrator.runners.connection import Channel
from orchestrator.runners.llama.health import Health, check_health, read_health


@pytest.mark.parametrize(
    ("status", "body", "health"),
    [
        (200, b'{"status":"ok"}', Health.READY),
        (503, b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}', Health.LOADING),
        (503, b'{"status":"loading model"}', Health.LOADING),
        (503, b'{"status":"no slot available"}', Health.NO_SLOT),
        (200, b'{"status":"error"}', Health.ERROR),
        (500, b'{"status":"ok"}', Health.ERROR),
        (500, b'{"error":{"code":500,"message":"x"}}', Health.ERROR),
        (404, b'{"error":{"code":404,"message":"File Not Found"}}', Health.ERROR),
        (200, b"", Health.ERROR),
        (200, b"[]", Health.ERROR),
        (500, b"nonsense", Health.ERROR),
    ],
)
def test_answers_of_all_servers_are_understood(status: int, body: bytes, health: Health) -> None:
    assert read_health(status, body) is health


async def test_an_engine_that_is_not_there_does_not_respond(tmp_path: Path) -> None:
    address = UnixAddress(tmp_path / "x.sock")
    assert await check_health(Channel(address), patience=timedelta(seconds=1)) is Health.NOT_RESPONDING
