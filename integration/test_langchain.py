"""LangChain's packages for Ollama and OpenAI, unchanged: over a scripted engine, and over the real one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from integration.cases.place import CALL, OUT_OF_BUDGET, Place, completion
from integration.conftest import CHAT_MODEL, EMBEDDING_MODEL
from integration.workers import CallFailed, Worker, python_worker

pytestmark = pytest.mark.timeout(180)

CALLED = ["find", {"pattern": "*.txt", "depth": 2}]
PACKAGES = ["ollama", "openai", "responses"]


@pytest.fixture(scope="module")
def langchain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with python_worker("langchain_calls", tmp_path_factory.mktemp("langchain")) as found:
        yield found


@pytest.fixture(params=PACKAGES)
def package(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_chat_is_answered(langchain: Worker, here: Place, package: str) -> None:
    here.says(["Hello", " there"])
    said = langchain.call("chat", package=package, address=here.server.address, model="plain", text="Hi!")
    assert (said["text"], said["tokens"]) == ("Hello there", [8, 2])
    assert said["end"] == ("completed" if package == "responses" else "stop")
    [call] = here.calls("/completion")
    assert call["prompt"] == "<|system|>Be brief.\n<|user|>Hi!\n<|assistant|>"


def test_a_stream_adds_up(langchain: Worker, here: Place, package: str) -> None:
    here.says(["Hello", " there"])
    said = langchain.call("stream", package=package, address=here.server.address, model="plain")
    assert (said["pieces"], said["text"], said["tokens"]) == (["Hello", " there"], "Hello there", [8, 2])


def test_asynchronous_chats_say_the_same(langchain: Worker, here: Place, package: str) -> None:
    here.says(["Hello", " there"])
    said = langchain.call("chat_async", package=package, address=here.server.address, model="plain")
    assert said == ["Hello there", "Hello there"]


@pytest.mark.parametrize("package", ["ollama", "openai"])
def test_an_answer_that_was_cut_off_says_so(langchain: Worker, here: Place, package: str) -> None:
    here.says(["One", OUT_OF_BUDGET])
    where = {"package": package, "address": here.server.address, "model": "plain"}
    assert langchain.call("chat", **where)["end"] == "length"
    assert langchain.call("stream", **where)["end"] == "length"


def test_a_tool_is_called_and_its_result_is_read(langchain: Worker, here: Place, package: str) -> None:
    here.script(answers=answers(["Let me look. ", CALL], ["a.txt it is."]))
    first, second = langchain.call("use_tool", package=package, address=here.server.address, model="tools")
    # in one piece, a response that calls tools has no text beside the calls, as in Ollama
    assert first["text"] == ("" if package == "responses" else "Let me look. ")
    assert first["calls"] == [CALLED]
    assert (second["text"], second["calls"]) == ("a.txt it is.", [])
    _, call = here.calls("/completion")
    assert "<|tool|>*.txt at 2: a.txt" in call["prompt"]


def test_streamed_calls_add_up(langchain: Worker, here: Place, package: str) -> None:
    here.says([CALL])
    said = langchain.call("stream_calls", package=package, address=here.server.address, model="tools")
    assert said["calls"] == [CALLED]


@pytest.mark.parametrize("choice", ["any", "find"])
def test_a_call_can_be_forced(langchain: Worker, here: Place, choice: str) -> None:
    here.says([CALL])
    for package in ("openai", "responses"):
        said = langchain.call(
            "force_tool", package=package, address=here.server.address, model="tools", choice=choice
        )
        assert said["calls"] == [CALLED]
    assert all("find" in call["grammar"] for call in here.calls("/completion"))


@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
def test_an_answer_is_an_object_of_the_client(
    langchain: Worker, here: Place, package: str, method: str
) -> None:
    city = '{"name": "Paris", "people": 2100000}'
    called = f'<tool_call>{{"name": "City", "arguments": {city}}}</tool_call>'
    here.says([called if method == "function_calling" else city])
    said = langchain.call(
        "structured", package=package, address=here.server.address, model="tools", method=method
    )
    assert said == {"name": "Paris", "people": 2100000}
    [call] = here.calls("/completion")
    if method == "json_schema":
        assert set(call["json_schema"]["properties"]) == {"name", "people"}


def test_thoughts_stand_apart(langchain: Worker, here: Place) -> None:
    here.says(["<think>hm</think>", "Yes."])
    where: dict[str, Any] = {"package": "ollama", "address": here.server.address, "model": "thinking"}
    said = langchain.call("chat", **where, reasoning=True)
    assert (said["thought"], said["text"]) == ("hm", "Yes.")
    assert langchain.call("stream", **where, reasoning=True)["thought"] == "hm"
    response = langchain.call("chat", **where | {"package": "responses"}, reasoning={"effort": "high"})
    assert (response["thought"], response["text"]) == ("hm", "Yes.")


def test_a_prompt_is_completed(langchain: Worker, here: Place) -> None:
    here.says(["Hello", " there"])
    said = langchain.call("complete", address=here.server.address, model="plain", text="Hi!", num_ctx=2048)
    assert said == ["Hello there", "Hello there"]


def test_what_is_wrong_is_raised(langchain: Worker, here: Place, package: str) -> None:
    with pytest.raises(CallFailed, match="not found") as caught:
        langchain.call("chat", package=package, address=here.server.address, model="absent")
    assert caught.value.status == 404
    with pytest.raises(CallFailed, match="not found"):
        langchain.call("check_model", address=here.server.address, model="absent")
    assert langchain.call("check_model", address=here.server.address, model="plain")


def test_the_real_engine_answers(langchain: Worker, real_daemon: str, package: str) -> None:
    limit = {"num_predict": 8} if package == "ollama" else {"max_tokens": 8}
    where: dict[str, Any] = {"package": package, "address": real_daemon, "model": CHAT_MODEL}
    said = langchain.call("chat", **where, text="Name a colour.", temperature=0, **limit)
    assert said["text"]
    assert 0 < said["tokens"][1] <= 8


def test_the_form_of_an_answer_is_kept(langchain: Worker, real_daemon: str, package: str) -> None:
    limit = {"num_predict": 100} if package == "ollama" else {"max_tokens": 100}
    said = langchain.call(
        "structured",
        package=package,
        address=real_daemon,
        model=CHAT_MODEL,
        method="json_schema",
        temperature=0,
        **limit,
    )
    assert said.keys() == {"name", "people"}


def test_log_probabilities_come_with_their_tokens(langchain: Worker, real_daemon: str) -> None:
    assert langchain.call("log_probabilities", address=real_daemon, model=CHAT_MODEL) == [2, 2, 2]


@pytest.mark.parametrize("package", ["ollama", "openai"])
def test_texts_are_embedded(langchain: Worker, real_daemon: str, package: str) -> None:
    query, [first, second] = langchain.call(
        "embed", package=package, address=real_daemon, model=EMBEDDING_MODEL, texts=["tin", "copper"]
    )
    assert query == pytest.approx(first, abs=1e-4)
    assert len(second) == 384
    assert math.hypot(*second) == pytest.approx(1, abs=1e-3)


def answers(*replies: list[str]) -> dict[str, Any]:
    """A script that gives these replies, one after the other."""
    return {"/completion": [{"sse": list(completion(reply))} for reply in replies]}
