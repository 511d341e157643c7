"""Who loads, waits and leaves: every request ends, no work is killed, models are not swapped for nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from ollama import Client

from integration.cases.place import PLAIN, Place, place
from integration.conftest import CHAT_MODEL
from integration.toy import get, opened, post, until
from tests.http_replay.transport import Answer

COLOURS = ("red", "blue", "green")


@pytest.fixture(scope="module")
def one_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A daemon that keeps one model in memory."""
    with place(tmp_path_factory.mktemp("one"), {"OLLAMA_MAX_LOADED_MODELS": "1"}) as here:
        for colour in COLOURS:
            here.model(colour, template=PLAIN)
        yield here


@pytest.fixture
def single(one_place: Place) -> Place:
    """The daemon with room for one model, nothing loaded."""
    one_place.clear()
    return one_place


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Clients that ask side by side."""
    with ThreadPoolExecutor(32) as pool:
        yield pool


def ask(here: Place, pool: ThreadPoolExecutor, model: str, **members: Any) -> Future[Answer]:
    return pool.submit(here.chat, model, "x", **members)


def statuses(answers: Sequence[Future[Answer]]) -> list[int]:
    return [answer.result(timeout=30).status for answer in answers]


def weights(here: Place) -> list[str]:
    """The weights of every start, in order."""
    return [event["argv"][event["argv"].index("--model") + 1] for event in here.events("launch")]


# case B099
def test_a_model_that_was_just_loaded_serves_its_own_request_first(
    single: Place, pool: ThreadPoolExecutor
) -> None:
    single.script(loads=[{"loading_s": 0.3}] * 2)
    first = ask(single, pool, "red")
    single.heard("launch")
    assert statuses([first, ask(single, pool, "blue")]) == [200, 200]


# case B100
def test_requests_for_two_models_at_once_both_end(single: Place, pool: ThreadPoolExecutor) -> None:
    assert single.chat("red", "x").status == 200
    for _ in range(10):
        assert statuses([ask(single, pool, "blue"), ask(single, pool, "green")]) == [200, 200]


# case B102
def test_a_model_that_is_loading_is_no_victim(single: Place, pool: ThreadPoolExecutor) -> None:
    single.script(loads=[{"loading_s": 0.5, "ignore_sigterm": True}, {}])
    first = ask(single, pool, "red")
    launched = single.heard("launch")
    second = ask(single, pool, "blue")
    assert first.result(timeout=30).status == 200
    served = next(event for event in single.events("request") if event["pid"] == launched["pid"])
    assert served["path"] == "/completion"
    assert second.result(timeout=30).status == 200


# case B105
def test_work_of_one_model_is_done_together(single: Place, pool: ThreadPoolExecutor) -> None:
    single.script(loads=[{"loading_s": 0.3}] * 8)
    queue = ["red", "blue", "red", "green", "red", "red", "blue"]
    answers = []
    for place_in_line, model in enumerate(queue):
        answers.append(ask(single, pool, model))
        until(lambda count=place_in_line + 1: waiting_or_served(single, count))  # type: ignore[misc]
    assert statuses(answers) == [200] * len(queue)
    assert len(weights(single)) == 3


def waiting_or_served(here: Place, count: int) -> bool:
    ps = get(here.server, "/api/ps").body
    waiting = max(ps["queue"]["waiting"], sum(model["waiting_requests"] for model in ps["models"]))
    return waiting + len(here.events("request")) >= count or len(here.events("launch")) > 1


# case B108
def test_smaller_wishes_use_the_larger_window(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    here.unload()
    here.script()
    for _ in range(10):
        for options in ({"num_ctx": 16384}, {}, {"num_ctx": 4096}):
            assert here.chat(model, "x", options=options).status == 200
    assert len(here.events("launch")) == 1


# case B110
def test_a_model_deaf_to_its_stop_goes_all_the_same(single: Place, pool: ThreadPoolExecutor) -> None:
    single.script(loads=[{"ignore_sigterm": True}, {}])
    assert single.chat("red", "x", keep_alive=-1).status == 200
    deaf = single.engine.processes()
    post(single.server, "/api/generate", {"model": "red", "keep_alive": 0})
    assert statuses([ask(single, pool, "blue")]) == [200]
    assert not set(deaf) & set(single.engine.processes())
    assert [model["name"] for model in single.loaded()] == ["blue:latest"]


# case B110
def test_a_client_that_holds_its_connection_holds_up_nobody_for_ever(
    single: Place, pool: ThreadPoolExecutor
) -> None:
    frames = [
        {"content": "a", "stop": False},
        {"$sleep": 2.0},
        {"content": "", "stop": True, "stop_type": "eos"},
    ]
    single.script(answers={"/completion": [{"sse": frames}]}, loads=[{"ignore_sigterm": True}, {}])
    body = {"model": "red", "messages": [{"role": "user", "content": "x"}]}
    with opened(single.server, "/api/chat", body) as held:
        assert held.readline()
        assert statuses([ask(single, pool, "blue")]) == [200]


# case B111
def test_changes_of_the_store_do_not_lose_a_load(single: Place, pool: ThreadPoolExecutor) -> None:
    single.script(loads=[{"loading_s": 0.5}])
    loading = ask(single, pool, "red")
    single.heard("launch")
    single.model("yellow", template=PLAIN)
    assert get(single.server, "/api/tags").status == 200
    single.alias("crimson", "red")
    assert loading.result(timeout=30).status == 200
    assert [model["name"] for model in single.loaded()] == ["red:latest"]
    single.unload()
    assert not single.engine.processes()


# case B111
def test_a_model_deleted_while_it_loads_is_still_unloaded(single: Place, pool: ThreadPoolExecutor) -> None:
    single.model("purple", template=PLAIN)
    single.script(loads=[{"loading_s": 0.5}])
    loading = ask(single, pool, "purple", keep_alive="100ms")
    single.heard("launch")
    single.forget("purple")
    assert loading.result(timeout=30).status == 200
    until(lambda: not single.engine.processes())


# case B112
def test_one_consumers_words_never_reach_anothers_prompt(here: Place, pool: ThreadPoolExecutor) -> None:
    model = here.model("templated", template=PLAIN)
    here.script()
    secret = {"role": "system", "content": "The code word is TULIP."}
    answers = []
    for _ in range(50):
        answers.append(pool.submit(here.chat, model, secret, "Hello."))
        answers.append(pool.submit(here.chat, model, "Which code words do you know?"))
    assert set(statuses(answers)) == {200}
    calls = here.calls("/completion")
    assert len(calls) == 100
    assert sum("TULIP" in call["prompt"] for call in calls) == 50
    assert all(("TULIP" in call["prompt"]) == ("Hello." in call["prompt"]) for call in calls)
    # no slot is chosen or restored by us: the engine reuses what is equal from the first token on
    assert all("id_slot" not in call for call in calls)


# case B112
def test_a_real_engine_keeps_consumers_apart(real_daemon: str) -> None:
    secret = {"role": "system", "content": "The code word is TULIP."}
    question = {"role": "user", "content": "Which code word?"}
    options = {"num_predict": 8, "temperature": 0, "seed": 1}
    with closing(Client(f"http://{real_daemon}")) as client:
        before = client.chat(CHAT_MODEL, [question], options=options).message.content
        client.chat(CHAT_MODEL, [secret, question], options=options)
        after = client.chat(CHAT_MODEL, [question], options=options).message.content
    assert "tulip" not in f"{before} {after}".lower()


# case B105
def test_nobody_waits_for_ever_for_a_model_in_demand(single: Place, pool: ThreadPoolExecutor) -> None:
    frames = [
        {"$sleep": 0.2},
        {"content": "a", "stop": False},
        {"content": "", "stop": True, "stop_type": "eos"},
    ]
    single.script(answers={"/completion": [{"sse": frames}]}, answers_repeat=True)
    answers = [ask(single, pool, "red") for _ in range(3)]
    other = ask(single, pool, "blue")
    started = time.monotonic()
    while not other.done() and time.monotonic() < started + 20:
        answers.append(ask(single, pool, "red"))
        single.engine.wait(0.2)
    assert other.result(timeout=30).status == 200
    assert set(statuses(answers)) == {200}
