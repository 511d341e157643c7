"""LiteLLM, unchanged, in each of the dialects it speaks: over a scripted engine, and over the real one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import pytest

from integration.cases.place import CALL, OUT_OF_BUDGET, Place, completion
from integration.conftest import CHAT_MODEL, EMBEDDING_MODEL
from integration.workers import CallFailed, Worker, python_worker

pytestmark = pytest.mark.timeout(180)

PROVIDERS = ["ollama_chat", "openai", "anthropic"]


@pytest.fixture(scope="module")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    with python_worker("litellm_calls", tmp_path_factory.mktemp("litellm"), quiet) as found:
        yield found


@pytest.mark.parametrize("provider", [*PROVIDERS, "ollama"])
def test_a_chat_is_answered(litellm: Worker, here: Place, provider: str) -> None:
    here.says(["Hello", " there"])
    where = {"provider": provider, "address": here.server.address, "model": "plain"}
    said = litellm.call("chat", **where, text="Hi!", max_tokens=9, temperature=0.5)
    assert (said["text"], said["end"], said["tokens"]) == ("Hello there", "stop", [8, 2])
    [call] = here.calls("/completion")
    assert (call["n_predict"], call["temperature"]) == (9, 0.5)
    assert "Be brief." in call["prompt"]


@pytest.mark.parametrize("provider", [*PROVIDERS, "ollama"])
def test_a_stream_adds_up(litellm: Worker, here: Place, provider: str) -> None:
    here.says(["Hello", " there"])
    where = {"provider": provider, "address": here.server.address, "model": "plain"}
    said = litellm.call("stream", **where)
    assert (said["text"], said["end"]) == ("Hello there", "stop")
    assert litellm.call("chat_async", **where) == ["Hello there", "Hello there"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_that_was_cut_off_says_so(litellm: Worker, here: Place, provider: str) -> None:
    here.says(["One", OUT_OF_BUDGET])
    said = litellm.call("chat", provider=provider, address=here.server.address, model="plain")
    assert said["end"] == "length"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_tool_is_called_and_its_result_is_read(litellm: Worker, here: Place, provider: str) -> None:
    replies = (["Let me look. ", CALL], ["a.txt it is."])
    here.script(answers={"/completion": [{"sse": list(completion(reply))} for reply in replies]})
    first, second = litellm.call("use_tool", provider=provider, address=here.server.address, model="tools")
    [[name, arguments]] = first["calls"]
    assert (name, json.loads(arguments)) == ("find", {"pattern": "*.txt", "depth": 2})
    assert first["end"] == "tool_calls"
    assert second["text"] == "a.txt it is."
    _, call = here.calls("/completion")
    assert "<|tool|>a.txt" in call["prompt"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_streamed_calls_add_up(litellm: Worker, here: Place, provider: str) -> None:
    here.says([CALL])
    said = litellm.call("stream_calls", provider=provider, address=here.server.address, model="tools")
    [[name, arguments]] = said["calls"]
    assert (name, json.loads(arguments)) == ("find", {"pattern": "*.txt", "depth": 2})
    assert said["end"] == "tool_calls"


@pytest.mark.parametrize("provider", ["ollama_chat", "openai"])
def test_thoughts_stand_apart(litellm: Worker, here: Place, provider: str) -> None:
    here.says(["<think>hm</think>", "Yes."])
    where = {"provider": provider, "address": here.server.address, "model": "thinking"}
    said = litellm.call("chat", **where)
    assert (said["thought"], said["text"]) == ("hm", "Yes.")


@pytest.mark.parametrize("provider", ["ollama_chat", "openai"])
def test_an_answer_has_the_form_that_is_asked_for(litellm: Worker, here: Place, provider: str) -> None:
    here.says(['{"name": "Paris", "people": 1}'])
    where = {"provider": provider, "address": here.server.address, "model": "plain"}
    assert json.loads(litellm.call("structured", **where)) == {"name": "Paris", "people": 1}
    [call] = here.calls("/completion")
    assert set(call["json_schema"]["properties"]) == {"name", "people"}


def test_prompts_and_responses_are_answered(litellm: Worker, here: Place) -> None:
    here.says(["One", " two"])
    assert litellm.call("complete", address=here.server.address, model="plain") == "One two"
    assert litellm.call("respond", address=here.server.address, model="plain") == ["One two", 2]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_wrong_is_raised_as_what_it_is(litellm: Worker, here: Place, provider: str) -> None:
    where = {"provider": provider, "address": here.server.address}
    with pytest.raises(CallFailed, match="not found") as caught:
        litellm.call("chat", **where, model="absent")
    assert caught.value.kind == "NotFoundError"


def test_a_model_is_asked_about(litellm: Worker, here: Place) -> None:
    found = litellm.call("facts", address=here.server.address, model="tools")
    assert found == {"max_input_tokens": 32768, "supports_function_calling": True}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_real_engine_answers(litellm: Worker, real_daemon: str, provider: str) -> None:
    where = {"provider": provider, "address": real_daemon, "model": CHAT_MODEL}
    said = litellm.call("chat", **where, text="Name a colour.", max_tokens=8, temperature=0)
    assert said["text"]
    assert 0 < said["tokens"][1] <= 8


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_texts_are_embedded(litellm: Worker, real_daemon: str, provider: str) -> None:
    where = {"provider": provider, "address": real_daemon, "model": EMBEDDING_MODEL}
    vectors = litellm.call("embed", **where, texts=["tin", "copper"])
    assert [len(vector) for vector in vectors] == [384, 384]
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-3) for vector in vectors)
