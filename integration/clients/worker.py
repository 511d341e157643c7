"""The inner side of ``integration.workers``: makes the calls that come in, in the words of a library."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any


def serve(calls: Mapping[str, Callable[..., Any]]) -> None:
    """Make calls until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is for people
    with asyncio.Runner() as runner:  # one loop: libraries keep connections
        for line in sys.stdin:
            asked = json.loads(line)
            answer = _answer(runner, calls[asked["call"]], asked["arguments"])
            answers.write(json.dumps({"id": asked["id"], **answer}) + "\n")
            answers.flush()


def _answer(runner: asyncio.Runner, call: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        value = call(**arguments)
        return {"value": runner.run(value) if inspect.iscoroutine(value) else value}
    except Exception as error:
        status = getattr(error, "status_code", None)
        return {"error": {"kind": type(error).__name__, "message": str(error), "status": status}}
