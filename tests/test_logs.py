from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.logs import TRACE, LogFormat, request_id, set_up_logging

logger = logging.getLogger("orchestrator.test")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("orchestrator")
    handlers, level = list(root.handlers), ours.level
    yield
    root.handlers[:] = handlers
    ours.setLevel(level)


def log_to(level: int = logging.INFO, form: LogFormat = "text") -> io.StringIO:
    stream = io.StringIO()
    set_up_logging(level, form, stream)
    return stream


def members(line: str) -> str:
    """A text line without time and source."""
    match = re.fullmatch(r"time=(\S+) (level=\S+) source=test_logs.py:\d+ (.*)\n", line)
    assert match is not None, line
    assert datetime.fromisoformat(match[1]).tzinfo is not None
    return f"{match[2]} {match[3]}"


@pytest.mark.parametrize(
    ("message", "extra", "line"),
    [
        ("ready", {}, "level=INFO msg=ready"),
        (
            "model ready",
            {"pid": 4711, "path": Path("/a b")},
            'level=INFO msg="model ready" pid=4711 path="/a b"',
        ),
        ("", {"on": True, "what": None, "x": "a=b"}, 'level=INFO msg="" on=true what=None x="a=b"'),
        ('say "hi"\n€', {"x": "€"}, 'level=INFO msg="say \\"hi\\"\\n€" x=€'),
    ],
)
def test_a_line_shows_the_message_and_its_values(message: str, extra: dict[str, Any], line: str) -> None:
    stream = log_to()
    logger.info(message, extra=extra)
    assert members(stream.getvalue()) == line


@pytest.mark.parametrize(
    ("level", "word"),
    [(TRACE, "TRACE"), (logging.DEBUG, "DEBUG"), (logging.WARNING, "WARN"), (logging.ERROR, "ERROR")],
)
def test_levels_bear_ollamas_names(level: int, word: str) -> None:
    stream = log_to(TRACE)
    logger.log(level, "x")
    assert members(stream.getvalue()) == f"level={word} msg=x"


def test_json_lines_hold_the_same() -> None:
    stream = log_to(form="json")
    logger.info("model %s", "ready", extra={"pid": 1, "path": Path("/a")})
    line = json.loads(stream.getvalue())
    assert (line["level"], line["msg"], line["pid"], line["path"]) == ("INFO", "model ready", 1, "/a")
    assert line["source"].startswith("test_logs.py:")


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_is_shown_with_its_traceback(form: LogFormat) -> None:
    stream = log_to(form=form)
    try:
        raise LookupError("owl")
    except LookupError:
        logger.exception("unexpected")
    assert "Traceback" in stream.getvalue()
    assert "LookupError: owl" in stream.getvalue()


def test_a_line_of_a_request_bears_its_id() -> None:
    stream = log_to()
    token = request_id.set("1f")
    logger.info("x")
    request_id.reset(token)
    assert members(stream.getvalue()) == "level=INFO msg=x request=1f"


def test_setting_up_again_replaces_the_first_set_up() -> None:
    first, second = log_to(), log_to(logging.DEBUG)
    logger.debug("x")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1


def test_libraries_are_heard_from_warnings_on() -> None:
    stream = log_to(logging.DEBUG)
    logging.getLogger("httpx").info("request")
    logging.getLogger("httpx").warning("trouble")
    assert stream.getvalue().count("\n") == 1
