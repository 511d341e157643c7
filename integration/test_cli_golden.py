"""Recorded command lines and sessions against a real daemon with a real model: they must look the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.runners.engines import EngineKind
from tests.cli_replay import commands, sessions
from tests.cli_replay.world import Case, World, running_world
from tests.engine_choice import CHOSEN
from tests.golden_records import records

EMBEDDED = {r"create-quantize": "a llama-quantize comes with a native engine"}
"""Patterns of cases that only the native engine can do → why."""


def _parameters(path: str) -> list[Any]:
    return [pytest.param(case, id=case["id"], marks=_marks(case)) for case in records(path)]


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    known = EMBEDDED if CHOSEN is EngineKind.EMBEDDED else {}
    reasons = (why for pattern, why in known.items() if re.fullmatch(pattern, case["id"]))
    return [pytest.mark.skip(reason=reason) for reason in reasons]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("world")) as world:
        yield world


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", _parameters("cli/commands.jsonl"))
def test_a_command_does_what_is_recorded(world: World, case: Case) -> None:
    differences = commands.differences(world, case)
    assert not differences, "\n".join(differences)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", _parameters("cli/interactive.jsonl"))
def test_a_session_looks_as_recorded(world: World, case: Case) -> None:
    differences = sessions.differences(world, case)
    assert not differences, "\n".join(differences)
