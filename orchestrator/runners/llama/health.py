"""The state of a llama-server, as its health check tells.

Source: ``llama-server`` §4; ``scheduler`` §15.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from enum import Enum
from typing import Any

import orjson

from orchestrator.runners.connection import AnswerCutOff, Channel, EngineUnreachable


class Health(Enum):
    """A state, by the name Ollama's messages give it."""

    READY = "llm server ready"
    NO_SLOT = "llm busy - no slots available"
    LOADING = "llm server loading model"
    NOT_RESPONDING = "llm server not responding"
    ERROR = "llm server error"


_WORDS = {
    "ok": Health.READY,
    "no slot available": Health.NO_SLOT,
    "loading model": Health.LOADING,
}


async def check_health(channel: Channel, *, patience: timedelta) -> Health:
    """Ask once, and wait no longer than ``patience`` for an answer."""
    try:
        async with asyncio.timeout(patience.total_seconds()), channel.exchange("GET", "/health") as answer:
            return read_health(answer.status, await answer.read_all())
    except (EngineUnreachable, AnswerCutOff, TimeoutError):
        return Health.NOT_RESPONDING


def read_health(status: int, body: bytes) -> Health:
    """The state an answer stands for; older servers used words of their own."""
    try:
        document: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Health.ERROR
    if not isinstance(document, dict):
        return Health.ERROR
    error = document.get("error")
    word = error.get("message") if isinstance(error, dict) else document.get("status")
    health = _WORDS.get(str(word).lower(), Health.ERROR)
    return health if health is not Health.READY or status < 400 else Health.ERROR
