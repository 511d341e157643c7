"""Clients that leave: what nobody waits for is not done, what somebody still wants is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from integration.cases.place import PLAIN, Place, place
from integration.toy import until, waiting


@pytest.fixture(scope="module")
def one_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A daemon that keeps one model in memory and answers one request at a time."""
    folder: Path = tmp_path_factory.mktemp("cancel")
    with place(folder, {"OLLAMA_MAX_LOADED_MODELS": "1", "OLLAMA_NUM_PARALLEL": "1"}) as here:
        here.model("red", template=PLAIN)
        here.model("blue", template=PLAIN)
        yield here


@pytest.fixture
def single(one_place: Place) -> Place:
    one_place.clear()
    return one_place


# case B113
@pytest.mark.parametrize("native", [False, True])
def test_a_client_that_leaves_while_its_prompt_is_read_frees_its_slot(here: Place, native: bool) -> None:
    model = here.native("native") if native else here.model("templated", template=PLAIN)
    assert here.chat(model, "x").status == 200
    path = "/v1/chat/completions" if native else "/completion"
    here.script(answers={path: [{"prefill": 10, "status": 200, "json": {}}, {"sse": []}]})
    with here.asked("/api/chat", {"model": model, "messages": [{"role": "user", "content": "x"}]}):
        here.heard("request", path=path)
        left = time.monotonic()
    here.heard("client-gone", path=path)
    assert time.monotonic() - left < 1
    here.script()
    assert here.chat(model, "x").status == 200


# case B114
def test_only_those_who_still_wait_are_answered(single: Place) -> None:
    assert single.chat("red", "x").status == 200
    frames = [{"$sleep": 1.0}, {"content": "", "stop": True, "stop_type": "eos"}]
    single.script(answers={"/completion": [{"sse": frames}]})
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(single.generate, "red", "the long one")
        single.heard("request", path="/completion")
        with ExitStack() as clients:
            for _ in range(4):
                clients.enter_context(single.asked("/api/generate", {"model": "red", "prompt": "left"}))
            live = pool.submit(single.generate, "red", "the live one")
            until(lambda: waiting_for(single) >= 5)
        assert (long.result().status, live.result().status) == (200, 200)
    prompts = [call["prompt"] for call in single.calls("/completion")]
    assert len(prompts) == 2
    assert "the live one" in prompts[1]


def waiting_for(here: Place) -> int:
    """Requests that wait for a runner, or at it."""
    [model] = here.loaded()
    at_the_runner: int = model["waiting_requests"] + model["active_requests"] - 1
    return waiting(here.server) + at_the_runner


# case B116
def test_a_load_that_nobody_wants_gives_way(single: Place) -> None:
    single.script(loads=[{"loading_s": 20}, {}])
    with single.asked("/api/generate", {"model": "red", "prompt": "x"}):
        abandoned = single.heard("launch")
    started = time.monotonic()
    assert single.generate("blue").status == 200
    assert time.monotonic() - started < 10
    assert abandoned["pid"] not in single.engine.processes()


# case B116
def test_a_load_that_is_in_nobodys_way_is_kept(single: Place) -> None:
    single.script(loads=[{"loading_s": 0.5}])
    with single.asked("/api/generate", {"model": "red", "prompt": "x"}):
        single.heard("launch")
    until(lambda: [model["state"] for model in single.loaded()] == ["ready"])
    assert single.generate("red").status == 200
    assert len(single.events("launch")) == 1
