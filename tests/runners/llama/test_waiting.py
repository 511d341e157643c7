"""Whether threads of engines wait awake."""

from __future__ import annotations

import pytest

from orchestrator.runners.llama.waiting import waiting


def test_waiting_threads_sleep_soon() -> None:
    assert int(waiting({"HOME": "/h"})["GOMP_SPINCOUNT"]) < 300_000


@pytest.mark.parametrize("chosen", [{"GOMP_SPINCOUNT": "5"}, {"OMP_WAIT_POLICY": "active"}])
def test_what_the_operator_chose_stays(chosen: dict[str, str]) -> None:
    assert waiting(chosen) == {}
