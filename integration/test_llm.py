"""The package ``llm`` with ``llm-ollama``, unchanged: over a scripted engine, and over the real one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from integration.cases.place import CALL, Place, completion
from integration.conftest import CHAT_MODEL, EMBEDDING_MODEL
from integration.workers import CallFailed, Worker, python_worker

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    home = tmp_path_factory.mktemp("llm")
    with python_worker("llm_calls", home, {"LLM_USER_PATH": str(home)}) as found:
        yield found


def test_models_are_found_by_what_they_can(llm: Worker, here: Place) -> None:
    chat, embedding = llm.call("models", address=here.server.address)
    names = ("native", "plain", "thinking", "tools")
    assert sorted(chat) == [f"ollama/{name}:latest" for name in names]
    assert embedding == ["ollama/embedder:latest"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_is_answered(llm: Worker, here: Place, stream: bool) -> None:
    here.says(["Hello", " there"])
    said = llm.call(
        "prompt", address=here.server.address, model="plain", text="Hi!", stream=stream, num_predict=9
    )
    assert said == {"text": "Hello there", "tokens": [8, 2]}
    [call] = here.calls("/completion")
    assert (call["prompt"], call["n_predict"]) == ("<|system|>Be brief.\n<|user|>Hi!\n<|assistant|>", 9)


def test_an_asynchronous_prompt_is_answered(llm: Worker, here: Place) -> None:
    here.says(["Hello", " there"])
    said = llm.call("prompt_async", address=here.server.address, model="plain", text="Hi!")
    assert said == "Hello there"


def test_a_conversation_goes_on(llm: Worker, here: Place) -> None:
    here.says(["Yes."])
    said = llm.call("converse", address=here.server.address, model="plain", texts=["One?", "Two?"])
    assert said == ["Yes.", "Yes."]
    _, call = here.calls("/completion")
    assert call["prompt"] == "<|user|>One?\n<|assistant|>Yes.\n<|user|>Two?\n<|assistant|>"


def test_a_chain_of_calls_comes_to_its_end(llm: Worker, here: Place) -> None:
    replies = (["Let me look. ", CALL], ["a.txt it is."])
    here.script(answers={"/completion": [{"sse": list(completion(reply))} for reply in replies]})
    said = llm.call("use_tool", address=here.server.address, model="tools")
    assert said == ["Let me look. ", "a.txt it is."]
    _, call = here.calls("/completion")
    assert "<|tool|>*.txt at 2: a.txt" in call["prompt"]


def test_an_answer_follows_a_schema(llm: Worker, here: Place) -> None:
    here.says(['{"name": "Paris", "people": 1}'])
    said = llm.call("structured", address=here.server.address, model="plain")
    assert said == {"name": "Paris", "people": 1}
    [call] = here.calls("/completion")
    assert set(call["json_schema"]["properties"]) == {"name", "people"}


def test_a_model_that_is_not_there_is_told(llm: Worker, here: Place) -> None:
    with pytest.raises(CallFailed, match="absent"):
        llm.call("prompt", address=here.server.address, model="absent", text="x", stream=False)


def test_the_command_line_works(llm: Worker, real_daemon: str) -> None:
    status, output, _ = llm.call("command", address=real_daemon, arguments=["ollama", "models"])
    assert status == 0
    assert f"{CHAT_MODEL}:latest" in output
    asked = ["-m", f"ollama/{CHAT_MODEL}:latest", "Name a colour.", "-o", "num_predict", "8", "--no-log"]
    status, output, errors = llm.call("command", address=real_daemon, arguments=asked)
    assert (status, errors) == (0, "")
    assert output.strip()


def test_texts_are_embedded(llm: Worker, real_daemon: str) -> None:
    vectors = llm.call("embed", address=real_daemon, model=EMBEDDING_MODEL, texts=["tin", "copper"])
    assert [len(vector) for vector in vectors] == [384, 384]
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-3) for vector in vectors)
