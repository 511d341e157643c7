"""The log on stderr: one line per event, as text like Ollama's or as JSON.

Values given as ``extra`` follow the message; while a request is served, its id does too.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TextIO

LogFormat = Literal["text", "json"]

TRACE = 5
"""Below DEBUG: what would drown a log for debugging."""

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Id of the request that the running task serves; empty outside of requests."""

_PACKAGE = Path(__file__).parent
_NAMES = {TRACE: "TRACE", logging.WARNING: "WARN", logging.CRITICAL: "ERROR"}
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_PLAIN = re.compile(r"[^\s\"=\x00-\x1f\x7f]+")


def set_up_logging(level: int = logging.INFO, form: LogFormat = "text", stream: TextIO | None = None) -> None:
    """Write our own events from ``level`` on, and warnings of libraries, to ``stream`` or stderr.

    Calling it again replaces what the last call set up.
    """
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _Handler)]:
        root.removeHandler(handler)
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root.addHandler(handler)
    logging.addLevelName(TRACE, "TRACE")
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line says them
    logging.getLogger("orchestrator").setLevel(level)


class _Handler(logging.StreamHandler[TextIO]):
    """The one handler that ``set_up_logging`` puts up; a class of its own so that it is found again."""


class TextFormatter(logging.Formatter):
    """``time=… level=INFO source=scheduler/loop.py:12 msg="model ready" pid=4711``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, followed by the traceback if there is one."""
        line = " ".join(f"{key}={_quoted(value)}" for key, value in members(record).items())
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """The members of ``TextFormatter`` as one JSON object, the traceback in ``stack``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        values = dict(members(record))
        if record.exc_info:
            values["stack"] = self.formatException(record.exc_info)
        return json.dumps(values, ensure_ascii=False, default=str)


def members(record: logging.LogRecord) -> Mapping[str, Any]:
    """What a line says of an event, in order."""
    values: dict[str, Any] = {
        "time": _time(record.created),
        "level": _NAMES.get(record.levelno, record.levelname),
        "source": f"{_source(record.pathname)}:{record.lineno}",
        "msg": record.getMessage(),
    }
    if identity := request_id.get():
        values["request"] = identity
    values.update((key, value) for key, value in record.__dict__.items() if key not in _STANDARD)
    return values


def _time(created: float) -> str:
    """The local time with milliseconds and the zone's offset."""
    second, below = divmod(created, 1)
    text, zone = _second(int(second))
    return f"{text}.{int(below * 1000):03d}{zone}"


@lru_cache(maxsize=4)
def _second(second: int) -> tuple[str, str]:
    text = datetime.fromtimestamp(second).astimezone().isoformat(timespec="seconds")
    return text[:19], text[19:]


@lru_cache(maxsize=256)
def _source(path: str) -> str:
    """A file of ours by its path in the package, any other by its name."""
    file = Path(path)
    return str(file.relative_to(_PACKAGE)) if file.is_relative_to(_PACKAGE) else file.name


def _quoted(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case _:
            text = str(value)
            return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
