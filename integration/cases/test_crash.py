"""Engines that fail: told with their own words, tried again for the next request, never in a loop."""

from __future__ import annotations

import pytest

from integration.cases.place import PLAIN, Place

WORDS = "error loading model: tensor 'blk.0' is damaged"
FAILURE = {"exit": 1, "stderr": [WORDS]}


# case B117
def test_a_failed_start_is_tried_again_for_the_next_request(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    here.unload()
    here.script(loads=[FAILURE, FAILURE, {}])
    for _ in range(2):
        answer = here.chat(model, "x")
        assert answer.status == 500
        assert WORDS in answer.body["error"]
    assert here.chat(model, "x").status == 200
    assert len(here.events("launch")) == 3


# case B117
def test_nobody_asking_means_nobody_trying(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    here.unload()
    here.script(loads=[FAILURE], loads_repeat=True)
    assert here.chat(model, "x").status == 500
    here.engine.wait(0.5)
    assert len(here.events("launch")) == 1


# case B146
@pytest.mark.parametrize(
    "load", [{"kill": 6, "stderr": ["GGML_ASSERT(key.size() > 0) failed"]}, {"exit": 134}]
)
def test_an_engine_that_aborts_while_loading_is_a_failed_load(here: Place, load: dict[str, object]) -> None:
    model = here.model("templated", template=PLAIN)
    here.unload()
    here.script(loads=[load], loads_repeat=True)
    answer = here.chat(model, "x")
    assert answer.status == 500
    assert answer.body["error"]
    assert len(here.events("launch")) == 1
    here.script()
    assert here.chat(model, "x").status == 200
