"""What the daemon relies on in an engine, asked of both: a llama-server of ours and the one in the wheel.

Source: ``llama-server``; where the two differ, a capability of ``EngineInfo`` says so.
"""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.doctor.bare import BareEngine, bare_engine
from orchestrator.doctor.contract import FLAGS, check, flags_of
from orchestrator.doctor.examination import examine, version_of
from orchestrator.doctor.tiny import write_tiny_model
from orchestrator.process.address import Address, UnixAddress
from orchestrator.runners.engines import EngineInfo, EngineKind
from tests.create.convert.model_folders import convert
from tests.engine_choice import each_kind, engine
from tests.sample_models import minilm, smollm2

PATIENCE_S = 60
ENVIRON = dict(os.environ)
PROMPT = "The capital of France is"
LONG = {"prompt": "Once upon a time", "n_predict": 2000, "ignore_eos": True}

ENCODER_FILES = (
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
)

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", params=list(each_kind()))
def info(request: pytest.FixtureRequest) -> EngineInfo:
    return engine(request.param)


@contextmanager
def started(info: EngineInfo, model: Path, *flags: str, ready: bool = True) -> Iterator[BareEngine]:
    """An engine with ``model``."""

    def arguments(address: Address, _marker: str) -> Sequence[str]:
        assert isinstance(address, UnixAddress)
        usual = ("--host", str(address.path), "--offline", "--no-webui", "--no-warmup", "-t", "2")
        log = ("--log-verbosity", "4", "--no-log-prefix", "--no-log-timestamps")
        return ("--model", str(model), *usual, *log, *flags)

    with bare_engine(info, arguments, ENVIRON) as running:
        if ready:
            running.wait_until_ready()
        yield running


@pytest.fixture(scope="module")
def running(info: EngineInfo) -> Iterator[BareEngine]:
    """A chat model in two slots of 512 tokens."""
    with started(info, smollm2(), "-c", "1024", "-np", "2", "--metrics") as engine:
        yield engine


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    write_tiny_model(path)
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for embeddings."""
    path = tmp_path_factory.mktemp("encoder") / "minilm.gguf"
    convert({name: minilm(name) for name in ENCODER_FILES}, path)
    return path


def post(engine: BareEngine, path: str, body: Any) -> httpx.Response:
    return engine.http.post(path, json=body)


def frames(engine: BareEngine, path: str, body: dict[str, Any]) -> list[Any]:
    """The payloads of a stream, decoded; ``[DONE]`` as a text."""
    answer = post(engine, path, {**body, "stream": True})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    payloads = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return [payload if payload == "[DONE]" else json.loads(payload) for payload in payloads]


def text_of(answer: list[Any]) -> str:
    return "".join(frame["content"] for frame in answer)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def busy_slots(engine: BareEngine) -> int:
    return sum(slot["is_processing"] for slot in engine.http.get("/slots").json())


# what it says of itself


def test_it_has_everything_that_a_pin_is_checked_for(info: EngineInfo) -> None:
    assert [finding for finding in check(info, ENVIRON) if not finding.holds] == []


def test_it_tells_its_flags_and_its_version(info: EngineInfo) -> None:
    assert flags_of(info, ENVIRON) >= set(FLAGS)
    assert "build" in version_of(info, ENVIRON)


def test_an_examination_ends_well(info: EngineInfo) -> None:
    found = examine(info, ENVIRON)
    assert found.serves, found.problem
    assert (found.quantizer is not None) == (info.kind is EngineKind.NATIVE)


# readiness


def test_it_is_loading_before_it_is_ready(info: EngineInfo) -> None:
    seen: list[tuple[int, Any]] = []
    with started(info, smollm2(), "-c", "512", ready=False) as engine:
        while not seen or seen[-1][0] != 200:
            assert engine.process.poll() is None
            seen.append(engine.health())
    assert seen[-1] == (200, {"status": "ok"})
    loading = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    assert all(entry in [(0, None), (503, loading)] for entry in seen[:-1])


def test_it_leaves_with_status_0_when_it_is_told_to(info: EngineInfo, tiny: Path) -> None:
    with started(info, tiny, "-c", "256") as engine:
        engine.process.send_signal(signal.SIGTERM)
        assert engine.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda model: b"garb" + model[4:], "invalid magic characters"),
        (lambda model: model[:-4096], "data is not within the file bounds"),
        (lambda model: model.replace(b"llama", b"lxama", 1), "unknown model architecture: 'lxama'"),
    ],
    ids=["no model", "cut off", "unknown architecture"],
)
def test_a_file_it_cannot_load_ends_it_with_the_reason(
    info: EngineInfo, tiny: Path, tmp_path: Path, content: Callable[[bytes], bytes], words: str
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(content(tiny.read_bytes()))
    with started(info, broken, ready=False) as engine:
        assert engine.process.wait(PATIENCE_S) == 1
        assert any(words in line for line in engine.log())


def test_a_flag_it_does_not_know_ends_it(info: EngineInfo, tiny: Path) -> None:
    with started(info, tiny, "--nope", ready=False) as engine:
        assert engine.process.wait(PATIENCE_S) == 1
        assert any("error: invalid argument: --nope" in line for line in engine.log())


# completions


def test_a_completion_streams_its_pieces_and_ends_with_the_account(running: BareEngine) -> None:
    *pieces, last = frames(running, "/completion", {"prompt": PROMPT, "n_predict": 4, "temperature": 0})
    assert text_of(pieces).startswith(" Paris")
    assert all(piece["stop"] is False for piece in pieces)
    assert (last["stop"], last["stop_type"], last["truncated"]) == (True, "limit", False)
    timings = last["timings"]
    assert timings["cache_n"] + timings["prompt_n"] == last["tokens_evaluated"] == 5
    assert timings["predicted_n"] == last["tokens_predicted"] == 4
    assert timings["prompt_ms"] > 0
    assert timings["predicted_ms"] > 0


def test_a_prompt_is_remembered(running: BareEngine) -> None:
    body = {"prompt": PROMPT, "n_predict": 1, "cache_prompt": True, "id_slot": 1}
    frames(running, "/completion", body)
    assert frames(running, "/completion", body)[-1]["timings"]["cache_n"] > 0


def test_a_stop_string_is_kept_back_and_named(running: BareEngine) -> None:
    body = {"prompt": "1 2 3 4", "n_predict": 20, "temperature": 0, "stop": ["7"]}
    answer = frames(running, "/completion", body)
    assert (answer[-1]["stop_type"], answer[-1]["stopping_word"]) == ("word", "7")
    assert "7" not in text_of(answer)


def test_probabilities_come_with_every_token(running: BareEngine) -> None:
    body = {"prompt": PROMPT, "n_predict": 2, "temperature": 0, "n_probs": 3}
    for frame in frames(running, "/completion", body)[:-1]:
        (entry,) = frame["completion_probabilities"]
        assert entry["token"] == frame["content"]
        assert entry["logprob"] <= 0
        assert len(entry["top_logprobs"]) == 3
        assert entry["top_logprobs"][0]["token"] == entry["token"]
        assert sum(math.exp(top["logprob"]) for top in entry["top_logprobs"]) <= 1.001


def test_a_grammar_is_obeyed(running: BareEngine) -> None:
    body = {"prompt": PROMPT, "n_predict": 30, "grammar": 'root ::= "maybe" [0-9] [0-9]'}
    text = text_of(frames(running, "/completion", body))
    assert text.startswith("maybe")
    assert text[5:].isdigit()


def test_it_reads_schemas_if_and_only_if_it_is_said_to(info: EngineInfo, running: BareEngine) -> None:
    """One that does says what is wrong with a schema; one that does not leaves the answer free."""
    body = {"prompt": PROMPT, "n_predict": 2, "json_schema": {"type": "nonsense"}}
    answer = post(running, "/completion", body)
    assert (answer.status_code == 400) == info.reads_schemas, answer.text


def test_a_schema_is_obeyed_by_an_engine_that_reads_it(info: EngineInfo, running: BareEngine) -> None:
    if not info.reads_schemas:
        pytest.skip("it gets grammars of ours")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    body = {"prompt": '{"b": 1}\n{"b":', "n_predict": 24, "temperature": 0, "json_schema": schema}
    text = text_of(frames(running, "/completion", body))
    assert text.lstrip().startswith("{")
    assert '"b"' not in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"prompt": "x", "repeat_last_n": -1}, "repeat_last_n"),
        ({"prompt": "x", "repeat_penalty": 0}, "penalty_repeat must be finite"),
        ({"prompt": "x", "n_predict": -2}, "n_predict"),
        ({"prompt": "x", "grammar": "root ::= ("}, "failed to parse grammar"),
        ({"n_predict": 1}, "prompt"),
        ({"prompt": [10**8]}, "invalid tokens"),
    ],
)
def test_a_request_that_cannot_be_is_a_400_with_the_reason(
    running: BareEngine, body: dict[str, Any], words: str
) -> None:
    answer = post(running, "/completion", body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (400, 400, "invalid_request_error")
    assert words in error["message"]


def test_a_prompt_that_is_too_long_is_a_400_with_both_numbers(running: BareEngine) -> None:
    answer = post(running, "/completion", {"prompt": "word " * 700, "n_predict": 1})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["n_ctx"]) == (400, "exceed_context_size_error", 512)
    assert error["n_prompt_tokens"] >= 700


def test_a_path_it_does_not_know_is_a_404(running: BareEngine) -> None:
    answer = running.http.get("/nowhere")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")


def test_a_full_window_ends_the_answer(info: EngineInfo, tiny: Path) -> None:
    with started(info, tiny, "-c", "256") as engine:
        last = frames(engine, "/completion", {**LONG, "temperature": 0})[-1]
    assert (last["stop_type"], last["truncated"]) == ("limit", True)
    assert last["tokens_predicted"] <= 256


# chats


def test_a_chat_streams_deltas_and_says_that_it_is_done(running: BareEngine) -> None:
    body = {"messages": [{"role": "user", "content": "Say hello."}], "n_predict": 4, "temperature": 0}
    answer = frames(running, "/v1/chat/completions", body)
    assert answer.pop() == "[DONE]"
    choices = [frame["choices"][0] for frame in answer]
    assert choices[0]["delta"]["role"] == "assistant"
    assert "".join(choice["delta"].get("content") or "" for choice in choices)
    assert [choice["finish_reason"] for choice in choices[-2:]] == [None, "length"]
    assert answer[-1]["timings"]["predicted_n"] == 4


def test_a_prompt_can_be_seen_and_measured(running: BareEngine) -> None:
    messages = [{"role": "user", "content": "Why?"}]
    prompt = post(running, "/apply-template", {"messages": messages}).json()["prompt"]
    assert "<|im_start|>user\nWhy?" in prompt
    tokens = post(running, "/tokenize", {"content": prompt, "add_special": False}).json()["tokens"]
    assert post(running, "/detokenize", {"tokens": tokens}).json()["content"] == prompt
    plain = post(running, "/tokenize", {"content": "<|im_end|>", "parse_special": False}).json()["tokens"]
    assert len(plain) > 1


def test_its_properties_have_what_is_shown_of_them(running: BareEngine) -> None:
    properties = running.http.get("/props").json()
    assert properties["total_slots"] == 2
    assert properties["default_generation_settings"]["n_ctx"] == 512
    assert properties["modalities"]["vision"] is False
    assert "im_start" in properties["chat_template"]
    assert "llamacpp:tokens_predicted_total" in running.http.get("/metrics").text


# slots


def test_more_requests_than_slots_wait_for_their_turn(running: BareEngine) -> None:
    body = {"prompt": PROMPT, "n_predict": 5, "temperature": 0}
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: text_of(frames(running, "/completion", body)), range(5)))
    assert len(set(answers)) == 1
    slots = running.http.get("/slots").json()
    assert [(slot["id"], slot["n_ctx"]) for slot in slots] == [(0, 512), (1, 512)]


def test_a_client_that_leaves_frees_its_slot(running: BareEngine) -> None:
    with running.http.stream("POST", "/completion", json={**LONG, "stream": True}) as answer:
        next(answer.iter_lines())
        assert busy_slots(running) == 1
    until(lambda: busy_slots(running) == 0)


def test_an_engine_that_dies_breaks_its_streams_off(info: EngineInfo) -> None:
    with (
        started(info, smollm2(), "-c", "4096") as engine,
        engine.http.stream("POST", "/completion", json={**LONG, "stream": True}) as answer,
    ):
        lines = answer.iter_lines()
        next(lines)
        engine.process.kill()
        with pytest.raises(httpx.TransportError):
            list(lines)


# embeddings


def test_an_encoder_embeds(info: EngineInfo, encoder: Path) -> None:
    with started(info, encoder, "--embedding", "-c", "256", "-b", "256", "-ub", "256") as engine:
        document = post(engine, "/v1/embeddings", {"input": ["hello world", "a"]}).json()
        vectors = [entry["embedding"] for entry in document["data"]]
        assert [len(vector) for vector in vectors] == [384, 384]
        assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1, 1], abs=1e-4)
        assert document["usage"]["prompt_tokens"] == 4 + 3
        raw = post(engine, "/v1/embeddings", {"input": "hello world", "embd_normalize": -1}).json()
        assert math.hypot(*raw["data"][0]["embedding"]) != pytest.approx(1, abs=1e-2)
        too_long = post(engine, "/v1/embeddings", {"input": "word " * 400})
        assert too_long.status_code in (400, 500)
        assert "too large" in too_long.json()["error"]["message"] or "exceeds" in too_long.text


def test_what_was_not_switched_on_is_a_501(running: BareEngine) -> None:
    answer = post(running, "/v1/embeddings", {"input": "x"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (501, "not_supported_error")
