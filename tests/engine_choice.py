"""Which engine the daemons of the tests run: the embedded one, unless ``ORCH_TEST_ENGINE`` says ``native``.

It is never the one that happens to be found, so that a build in the cache does not change what is tested.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from orchestrator.runners.engines import EngineInfo, EngineKind, EngineNotFound, find_engine

CHOSEN = EngineKind(os.environ.get("ORCH_TEST_ENGINE") or "embedded")


def chosen_environment() -> Mapping[str, str]:
    """What a daemon is told, so that it runs the chosen engine wherever its home is."""
    if CHOSEN is EngineKind.EMBEDDED:
        return {"ORCH_ENGINE": "embedded"}
    return {"ORCH_LLAMA_SERVER": engine(CHOSEN).argv_prefix[0]}


def engine(kind: EngineKind) -> EngineInfo:
    """The engine of that kind. Raises ``EngineNotFound``."""
    return find_engine(os.environ, only=kind)


def why_not(kind: EngineKind) -> str:
    """Why there is no engine of that kind; empty if there is one."""
    try:
        engine(kind)
    except EngineNotFound as error:
        return f"{error}; {error.hint}"
    return ""


def each_kind() -> Iterator[Any]:
    """A parameter for each kind of engine; of the one that a whole run is about, when it is about one."""
    for kind in EngineKind:
        reason = why_not(kind)
        if not reason and CHOSEN is EngineKind.NATIVE and kind is not CHOSEN:
            reason = "this run is about the native engine"
        yield pytest.param(kind, id=kind.value, marks=[pytest.mark.skip(reason=reason)] if reason else [])
