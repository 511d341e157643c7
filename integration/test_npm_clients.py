"""Client libraries of JavaScript, unchanged: over a scripted engine, and over the real one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from integration.cases.place import CALL, OUT_OF_BUDGET, Place, completion
from integration.conftest import CHAT_MODEL, EMBEDDING_MODEL
from integration.workers import CallFailed, Worker, node_worker

pytestmark = pytest.mark.timeout(180)

CALLED = ["find", {"pattern": "*.txt", "depth": 2}]
CITY = {"name": "Paris", "people": 2100000}
CITY_TEXT = '{"name": "Paris", "people": 2100000}'
AI_PACKAGES = ["ollama", "openai-compatible"]


@pytest.fixture(scope="module")
def ollama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with node_worker("ollama_calls", tmp_path_factory.mktemp("ollama")) as found:
        yield found


@pytest.fixture(scope="module")
def openai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with node_worker("openai_calls", tmp_path_factory.mktemp("openai")) as found:
        yield found


@pytest.fixture(scope="module")
def anthropic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with node_worker("anthropic_calls", tmp_path_factory.mktemp("anthropic")) as found:
        yield found


@pytest.fixture(scope="module")
def ai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with node_worker("ai_calls", tmp_path_factory.mktemp("ai")) as found:
        yield found


@pytest.fixture(params=["ollama", "openai", "anthropic"])
def sdk(request: pytest.FixtureRequest) -> Worker:
    """Each of the packages that one maker gives out for its own API."""
    found: Worker = request.getfixturevalue(request.param)
    return found


# ---- each package for its own API ----


def test_a_chat_is_answered(sdk: Worker, here: Place) -> None:
    here.says(["Hello", " there"])
    said = sdk.call("chat", address=here.server.address, model="plain", text="Hi!")
    assert (said["text"], said["tokens"]) == ("Hello there", [8, 2])
    assert said["end"] in ("stop", "end_turn")
    [call] = here.calls("/completion")
    assert call["prompt"] == "<|user|>Hi!\n<|assistant|>"


def test_a_stream_adds_up(sdk: Worker, here: Place) -> None:
    here.says(["Hello", " there"])
    said = sdk.call("stream", address=here.server.address, model="plain")
    assert (said["text"], said["tokens"][1]) == ("Hello there", 2)


def test_an_answer_that_was_cut_off_says_so(sdk: Worker, here: Place) -> None:
    here.says(["One", OUT_OF_BUDGET])
    where = {"address": here.server.address, "model": "plain"}
    assert sdk.call("chat", **where)["end"] in ("length", "max_tokens")
    assert sdk.call("stream", **where)["end"] in ("length", "max_tokens")


def test_thoughts_stand_apart(sdk: Worker, here: Place) -> None:
    here.says(["<think>hm</think>", "Yes."])
    said = sdk.call("chat", address=here.server.address, model="thinking")
    assert (said["thought"], said["text"]) == ("hm", "Yes.")


@pytest.mark.parametrize("package", ["ollama", "anthropic"])
def test_a_tool_is_called_and_its_result_is_read(
    package: str, request: pytest.FixtureRequest, here: Place
) -> None:
    here.script(answers=in_turn(["Let me look. ", CALL], ["a.txt it is."]))
    sdk: Worker = request.getfixturevalue(package)
    first, second = sdk.call("useTool", address=here.server.address, model="tools")
    assert (first["text"], first["calls"]) == ("Let me look. ", [CALLED])
    assert second["text"] == "a.txt it is."
    _, call = here.calls("/completion")
    assert "<|tool|>a.txt" in call["prompt"]


def test_the_helper_of_a_package_runs_tools_itself(openai: Worker, here: Place) -> None:
    here.script(answers=in_turn([CALL], ["a.txt it is."]))
    assert openai.call("useTool", address=here.server.address, model="tools") == "a.txt it is."
    _, call = here.calls("/completion")
    assert "<|tool|>*.txt: a.txt" in call["prompt"]


@pytest.mark.parametrize("package", ["openai", "anthropic"])
def test_streamed_calls_add_up(package: str, request: pytest.FixtureRequest, here: Place) -> None:
    here.says([CALL])
    sdk: Worker = request.getfixturevalue(package)
    said = sdk.call("stream", address=here.server.address, model="tools", tools=True)
    assert said["calls"] == [CALLED]
    assert said["end"] in ("tool_calls", "tool_use")


@pytest.mark.parametrize("package", ["ollama", "openai"])
def test_an_answer_has_the_form_that_is_asked_for(
    package: str, request: pytest.FixtureRequest, here: Place
) -> None:
    here.says([CITY_TEXT])
    sdk: Worker = request.getfixturevalue(package)
    assert sdk.call("structured", address=here.server.address, model="plain") == CITY
    [call] = here.calls("/completion")
    assert set(call["json_schema"]["properties"]) == {"name", "people"}


def test_what_is_wrong_is_raised_as_what_it_is(sdk: Worker, here: Place) -> None:
    for name in ("chat", "stream"):
        with pytest.raises(CallFailed, match="model 'absent' not found") as caught:
            sdk.call(name, address=here.server.address, model="absent")
        assert caught.value.status == 404


# ---- what only one of them does ----


def test_a_prompt_is_completed(ollama: Worker, here: Place) -> None:
    here.says(["One", " two"])
    assert ollama.call("generate", address=here.server.address, model="plain") == ["One two", "One two"]


def test_a_stream_may_be_left(ollama: Worker, here: Place) -> None:
    pieces = [{"content": "One", "stop": False}, {"$sleep": 20}]
    here.script(answers={"/completion": [{"sse": pieces}]})
    with pytest.raises(CallFailed, match="abort"):
        ollama.call("aborted", address=here.server.address, model="plain")
    here.heard("client-gone", path="/completion")


def test_models_are_listed_made_and_deleted(ollama: Worker, here: Place) -> None:
    found = ollama.call("models", address=here.server.address, model="plain")
    assert set(found["names"]) >= {"plain:latest", "tools:latest", "thinking:latest"}
    assert "completion" in found["capabilities"]
    assert ollama.call("make", address=here.server.address, **{"from": "plain"}) == "success"


def test_a_response_follows_another(openai: Worker, here: Place) -> None:
    here.says(["Yes."])
    said = openai.call("respond", address=here.server.address, model="plain")
    assert (said["text"], said["tokens"]) == ("Yes.", 1)
    assert said["events"][0] == "response.created"
    assert said["events"][-1] == "response.completed"
    _, call = here.calls("/completion")
    assert call["prompt"] == "<|user|>One?\n<|assistant|>Yes.\n<|user|>Two?\n<|assistant|>"


def test_a_response_calls_a_tool(openai: Worker, here: Place) -> None:
    here.script(answers=in_turn([CALL], ["a.txt it is."]))
    said = openai.call("responseWithTool", address=here.server.address, model="tools")
    assert said == {"calls": [CALLED], "text": "a.txt it is."}


def test_a_response_has_the_form_that_is_asked_for(openai: Worker, here: Place) -> None:
    here.says([CITY_TEXT])
    assert openai.call("structuredResponse", address=here.server.address, model="plain") == CITY


# ---- the package `ai` ----


@pytest.mark.parametrize("package", AI_PACKAGES)
def test_text_is_generated(ai: Worker, here: Place, package: str) -> None:
    here.says(["Hello", " there"])
    where = {"package": package, "address": here.server.address, "model": "plain"}
    said = ai.call("chat", **where, system="Be brief.", **settings(package, 0.5, 9))
    assert (said["text"], said["end"], said["tokens"]) == ("Hello there", "stop", [8, 2])
    [call] = here.calls("/completion")
    assert call["prompt"] == "<|system|>Be brief.\n<|user|>x\n<|assistant|>"
    assert (call["temperature"], call["n_predict"]) == (0.5, 9)


@pytest.mark.parametrize("package", AI_PACKAGES)
def test_text_is_streamed(ai: Worker, here: Place, package: str) -> None:
    here.says(["Hello", " there"])
    said = ai.call("stream", package=package, address=here.server.address, model="plain")
    assert (said["text"], said["end"], said["tokens"]) == ("Hello there", "stop", [8, 2])
    assert said["pieces"] == ["Hello", " there"]


@pytest.mark.parametrize("package", AI_PACKAGES)
@pytest.mark.parametrize("name", ["useTool", "streamTool"])
def test_tools_are_run_in_steps(ai: Worker, here: Place, package: str, name: str) -> None:
    here.script(answers=in_turn(["Let me look. ", CALL], ["a.txt it is."]))
    said = ai.call(name, package=package, address=here.server.address, model="tools")
    assert said == {"calls": [CALLED], "texts": ["Let me look. ", "a.txt it is."]}
    _, call = here.calls("/completion")
    assert "*.txt: a.txt" in call["prompt"]


@pytest.mark.parametrize("package", AI_PACKAGES)
def test_reasoning_is_told(ai: Worker, here: Place, package: str) -> None:
    here.says(["<think>hm</think>", "Yes."])
    more = {"providerOptions": {"ollama": {"think": True}}} if package == "ollama" else {}
    where = {"package": package, "address": here.server.address, "model": "thinking"}
    for name in ("chat", "stream"):
        said = ai.call(name, **where, **more)
        assert (said["thought"], said["text"]) == ("hm", "Yes.")


@pytest.mark.parametrize("package", AI_PACKAGES)
def test_an_object_is_generated(ai: Worker, here: Place, package: str) -> None:
    here.says([CITY_TEXT])
    said = ai.call("structured", package=package, address=here.server.address, model="plain")
    assert said == CITY
    [call] = here.calls("/completion")
    assert set(call["json_schema"]["properties"]) == {"name", "people"}


@pytest.mark.parametrize("package", AI_PACKAGES)
def test_failures_have_their_status(ai: Worker, here: Place, package: str) -> None:
    for name in ("chat", "stream"):
        with pytest.raises(CallFailed) as caught:
            ai.call(name, package=package, address=here.server.address, model="absent")
        assert caught.value.status == 404


# ---- the real engine ----


@pytest.mark.parametrize(
    ("package", "limit"),
    [
        ("ollama", {"options": {"num_predict": 8}}),
        ("openai", {"max_completion_tokens": 8}),
        ("anthropic", {"max_tokens": 8}),
    ],
)
def test_the_real_engine_answers(
    package: str, limit: dict[str, Any], request: pytest.FixtureRequest, real_daemon: str
) -> None:
    sdk: Worker = request.getfixturevalue(package)
    said = sdk.call("chat", address=real_daemon, model=CHAT_MODEL, text="Name a colour.", **limit)
    assert said["text"]
    assert 0 < said["tokens"][1] <= 8
    assert said["tokens"][0] > 10


@pytest.mark.parametrize("package", AI_PACKAGES)
def test_the_real_engine_generates(ai: Worker, real_daemon: str, package: str) -> None:
    where = {"package": package, "address": real_daemon, "model": CHAT_MODEL}
    said = ai.call("stream", **where, **settings(package, 0, 8))
    assert said["text"]
    assert 0 < said["tokens"][1] <= 8


def test_prompts_are_counted(anthropic: Worker, real_daemon: str) -> None:
    assert anthropic.call("count", address=real_daemon, model=CHAT_MODEL) > 5


@pytest.mark.parametrize("package", ["ollama", "openai"])
def test_texts_are_embedded(package: str, request: pytest.FixtureRequest, real_daemon: str) -> None:
    sdk: Worker = request.getfixturevalue(package)
    assert_vectors(sdk.call("embed", address=real_daemon, model=EMBEDDING_MODEL, texts=["tin", "copper"]))


@pytest.mark.parametrize("package", AI_PACKAGES)
def test_many_texts_are_embedded(ai: Worker, real_daemon: str, package: str) -> None:
    where = {"package": package, "address": real_daemon, "model": EMBEDDING_MODEL}
    assert_vectors(ai.call("embed", **where, texts=["tin", "copper"]))


def test_models_are_listed(openai: Worker, real_daemon: str) -> None:
    found = openai.call("models", address=real_daemon)
    assert {f"{CHAT_MODEL}:latest", f"{EMBEDDING_MODEL}:latest"} <= set(found["names"])
    assert found["one"] == "model"


def settings(package: str, temperature: float, limit: int) -> dict[str, Any]:
    """Sampling options; the provider for Ollama sends the general ones where Ollama does not read them."""
    if package == "ollama":
        options = {"temperature": temperature, "num_predict": limit}
        return {"providerOptions": {"ollama": {"options": options}}}
    return {"temperature": temperature, "maxOutputTokens": limit}


def assert_vectors(vectors: Any) -> None:
    assert [len(vector) for vector in vectors] == [384, 384]
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-3) for vector in vectors)


def in_turn(*replies: list[str]) -> dict[str, Any]:
    """A script that gives these replies, one after the other."""
    return {"/completion": [{"sse": list(completion(reply))} for reply in replies]}
