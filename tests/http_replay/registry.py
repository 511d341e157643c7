"""The registry of the recorded pulls and pushes: a program that comes with the records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from tests.golden_records import FOLDER

_PROGRAM = Path("http", "registry.py")
_OWN = Path(__file__).parents[1] / "golden"
_RECORDED = "127.0.0.1:18599"
"""Where it was when the records were made."""


@contextmanager
def recorded_registry() -> Iterator[str]:
    """Host and port of the registry, running in a thread."""
    path = next(folder / _PROGRAM for folder in (FOLDER, _OWN) if (folder / _PROGRAM).exists())
    spec = spec_from_file_location("recorded_registry", path)
    assert spec is not None
    assert spec.loader is not None
    program = module_from_spec(spec)
    spec.loader.exec_module(program)
    registry = program.start(0)
    try:
        yield f"127.0.0.1:{registry.server.server_address[1]}"
    finally:
        registry.stop()


def at_registry(record: dict[str, Any], address: str) -> dict[str, Any]:
    """A record as it would be if the registry had been at ``address``."""
    moved: dict[str, Any] = json.loads(json.dumps(record).replace(_RECORDED, address))
    return moved | {"setup": list(_with_files_removed(moved))}


def _with_files_removed(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps before a record. What it pulls anew has to be there to be deleted with its files.

    Files of the world are files of these models, too; alone, without the records before it, a record would
    find them.
    """
    request = record["request"]
    for step in record.get("setup", ()):
        deletes = step.get("path") == "/api/delete" and request["path"] == "/api/pull"
        if deletes and step["json"]["model"] == request["json"]["model"]:
            yield {**request, "json": {**request["json"], "stream": False}}
        yield step
