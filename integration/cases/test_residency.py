"""How long models stay, and which one answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from integration.cases.place import PLAIN, Json, Place, place

HOUR = 3600.0
NEVER = 100 * 365 * 24 * HOUR


def seconds_left(entry: Json) -> float:
    expires = datetime.fromisoformat(re.sub(r"\.\d+", "", entry["expires_at"]))
    return (expires - datetime.now(expires.tzinfo)).total_seconds()


@contextmanager
def surroundings(folder: Path, **environment: str) -> Iterator[Place]:
    given: Mapping[str, str] = environment
    with place(folder, given) as here:
        here.model("red", template=PLAIN)
        here.model("blue", template=PLAIN)
        yield here


# case B091
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (-1, NEVER),
        ("-1", NEVER),
        (0, None),
        ("0", None),
        ("90", 90),
        (90, 90),
        ("1h30m", 5400),
        ("", 300),
        (None, 300),
    ],
)
@pytest.mark.parametrize("route", ["chat", "generate"])
def test_a_keep_alive_in_every_form(here: Place, route: str, value: Any, seconds: float | None) -> None:
    model = here.model("templated", template=PLAIN)
    here.unload()
    answer = (
        here.chat(model, "x", keep_alive=value) if route == "chat" else here.generate(model, keep_alive=value)
    )
    assert answer.status == 200, answer
    if seconds is None:
        while here.loaded():
            here.engine.wait(0.05)
    else:
        assert seconds - 30 < seconds_left(here.loaded()[0])
        assert seconds == NEVER or seconds_left(here.loaded()[0]) <= seconds


# case B091
@pytest.mark.parametrize("value", ["soon", "5 parsecs", True, [], {}])
def test_what_is_no_duration_is_refused(here: Place, value: Any) -> None:
    assert here.chat(here.model("templated", template=PLAIN), "x", keep_alive=value).status == 400


# case B093
def test_the_operators_floor_and_ceiling_hold(tmp_path: Path) -> None:
    with surroundings(tmp_path, ORCH_KEEP_ALIVE_MIN="1h", ORCH_KEEP_ALIVE_MAX="2h") as here:
        for keep_alive, low, high in (
            ("30s", 3500, 3600),
            ("90m", 5300, 5400),
            (-1, 7100, 7200),
            (0, 3500, 3600),
        ):
            assert here.chat("red", "x", keep_alive=keep_alive).status == 200
            assert low < seconds_left(here.loaded()[0]) <= high, keep_alive
        assert len(here.events("launch")) == 1


# case B094
def test_a_pinned_model_starts_once(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    here.unload()
    here.script()
    for _ in range(3):
        assert here.chat(model, "x", keep_alive=-1).status == 200
    assert len(here.events("launch")) == 1
    here.unload()


# case B097
def test_the_model_that_was_asked_for_answers(tmp_path: Path) -> None:
    with surroundings(tmp_path, OLLAMA_MAX_LOADED_MODELS="1") as here:
        for model in ("red", "blue", "red"):
            assert here.chat(model, "x").body["model"] == model
            assert [entry["name"] for entry in here.loaded()] == [f"{model}:latest"]
        started = [event["argv"] for event in here.events("launch")]
        weights = [argv[argv.index("--model") + 1] for argv in started]
        assert weights[0] == weights[2] != weights[1]


# case B097
def test_a_model_that_does_not_load_is_an_error_and_no_other_answers(tmp_path: Path) -> None:
    with surroundings(tmp_path, OLLAMA_MAX_LOADED_MODELS="1") as here:
        assert here.chat("red", "x").status == 200
        here.script(loads=[{"exit": 1, "stderr": ["error loading model: no such tensor"]}])
        answer = here.chat("blue", "x")
        assert answer.status == 500
        assert "no such tensor" in answer.body["error"]
        assert not here.calls("/completion")


# case B098
def test_saved_settings_of_a_model_hold_unless_the_request_says_otherwise(here: Place) -> None:
    model = here.model("saved", template=PLAIN, parameters={"num_ctx": 2048, "temperature": 0.25, "seed": 7})
    here.unload()
    here.script()
    assert here.chat(model, "x").status == 200
    assert here.chat(model, "x", options={"temperature": 0.5}).status == 200
    [launch] = here.events("launch")
    assert launch["argv"][launch["argv"].index("-c") + 1] == "2048"
    saved, overridden = here.calls("/completion")
    assert (saved["temperature"], saved["seed"]) == (0.25, 7)
    assert (overridden["temperature"], overridden["seed"]) == (0.5, 7)
    assert here.chat(model, "x", options={"num_ctx": 4096}).status == 200
    assert here.loaded()[0]["context_length"] == 4096
