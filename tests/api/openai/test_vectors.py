"""Recorded vectors: bodies become the right requests, generations the right replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import numpy as np
import pytest

from orchestrator.api.errors import status_of
from orchestrator.api.openai.answers import Answer, Costs, Question
from orchestrator.api.openai.chat_records import ChatForm
from orchestrator.api.openai.convert import to_chat, to_completion, to_embed, to_encoding
from orchestrator.api.openai.embeddings import embeddings
from orchestrator.api.openai.errors import OPENAI, error_event
from orchestrator.api.openai.identity import Identity
from orchestrator.api.openai.models import card
from orchestrator.api.openai.reading import EmptyBody
from orchestrator.api.openai.text_records import TextForm
from orchestrator.domain.chunks import Chunk
from orchestrator.domain.names import ModelName
from orchestrator.errors import OrchestratorError, RunnerFailed
from orchestrator.inference.reply import RenderedPrompt, Reply
from orchestrator.wire import openai as wire
from orchestrator.wire.errors import MissingBody
from orchestrator.wire.json import dumps
from orchestrator.wire.model import Wire, decode_body, encode
from tests.api.openai.vectors import (
    body_bytes,
    created,
    events,
    generation,
    key_order,
    masked,
    native_chat,
    native_completion,
    refusal,
    without_ours,
)
from tests.golden_records import Record, cases, matches, records, same, wanted_results


def _outcome(record: Record, convert: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
    """What a body becomes, in the form of the records."""
    try:
        return {"out": convert(body_bytes(record))}
    except MissingBody:
        error: OrchestratorError = EmptyBody()
    except OrchestratorError as caught:
        error = caught
    status = status_of(error)
    reply = {"status": status, "body": OPENAI.body(error, status)}
    return reply | ({"content_type": record["content_type"]} if "content_type" in record else {})


def _shown(native: dict[str, Any], record: Record) -> dict[str, Any]:
    """The result of a conversion; of texts the order of keys counts, as far as it is the client's."""
    text = record.get("out", {}).get("native_text")
    if text is None:
        return {"native": native}
    wanted = json.loads(text)
    for name in ("messages", "tools", "format"):
        assert key_order(native.get(name)) == key_order(wanted.get(name))
    return {"native": native, "native_text": text}


@pytest.mark.parametrize("record", cases("openai/chat_request.jsonl"))
def test_a_chat_becomes_the_recorded_request(record: Record) -> None:
    def convert(raw: bytes) -> dict[str, Any]:
        body, _ = decode_body(raw, wire.ChatCompletionRequest)
        native = native_chat(to_chat(body), stream=body.stream)
        return _shown(without_ours(native, record["in"].get("body")), record)

    outcome = _outcome(record, convert)
    if (record["in"].get("body") or {}).get("functions"):
        assert outcome["status"] == 400  # refused rather than passed over
        return
    assert matches(record, outcome), outcome


@pytest.mark.parametrize("record", cases("openai/completion_request.jsonl"))
def test_a_completion_becomes_the_recorded_request(record: Record) -> None:
    def convert(raw: bytes) -> dict[str, Any]:
        body, _ = decode_body(raw, wire.CompletionRequest)
        native = native_completion(to_completion(body), stream=body.stream)
        return _shown(without_ours(native, record["in"].get("body")), record)

    outcome = _outcome(record, convert)
    assert matches(record, outcome), outcome


@pytest.mark.parametrize("record", cases("openai/embeddings_request.jsonl"))
def test_texts_to_embed_become_the_recorded_request(record: Record) -> None:
    def convert(raw: bytes) -> dict[str, Any]:
        body, _ = decode_body(raw, wire.EmbeddingRequest)
        to_encoding(body)
        request = to_embed(body)
        texts = [text if isinstance(text, str) else list(text) for text in request.texts]
        single = isinstance(body.input, str) and body.input
        native: dict[str, Any] = {"model": request.model, "input": texts[0] if single else texts}
        return _shown(native | ({"dimensions": request.dimensions} if request.dimensions else {}), record)

    outcome = _outcome(record, convert)
    assert matches(record, outcome), outcome


def _is_refusal(record: Record) -> bool:
    return "status" in record["in"]["native"]


def _can_come_about(record: Record) -> bool:
    """Not all replies do: those without vectors, and those to paths that are never routed (test_routing)."""
    route, native = record["in"].get("route", ""), record["in"]["native"]
    return "%2F" not in route and (route != "/v1/embeddings" or "embeddings" in native["object"])


def answers(file: str) -> list[Any]:
    """Records of replies as parameters of a test."""
    return [
        pytest.param(record, id=record["id"])
        for record in records(f"openai/{file}.jsonl")
        if not _is_refusal(record) and _can_come_about(record)
    ]


REPLIES = ("chat_response", "completion_response", "embeddings_response", "models")
REFUSALS = [
    pytest.param(record, id=record["id"])
    for file in REPLIES
    for record in records(f"openai/{file}.jsonl")
    if _is_refusal(record)
]


@pytest.mark.parametrize("record", REFUSALS)
def test_a_refusal_becomes_the_recorded_one(record: Record) -> None:
    status, body = refusal(record["in"]["native"])
    assert same({"status": record["status"], "body": record["body"]}, {"status": status, "body": body})


@pytest.mark.parametrize("record", answers("chat_response"))
def test_a_generation_becomes_the_recorded_chat(record: Record) -> None:
    given = record["in"]
    body = wire.ChatCompletionRequest.model_validate(given["body"])
    native = given["native"]
    question = _question("chatcmpl-1", body, native)
    if not body.stream:
        _assert_same(record, _whole_chat(question, native))
        return
    encoder = ChatForm().events(question, 0, Costs(1))
    if "_debug_info" in native.get("object", {}):
        _assert_stream(record, encoder.opening())
        return
    stream = b"".join(encoder.encode([item]) for item in generation(native))
    _assert_stream(record, stream + _broken_off(native))


@pytest.mark.parametrize("record", answers("completion_response"))
def test_a_generation_becomes_the_recorded_completion(record: Record) -> None:
    given = record["in"]
    body = wire.CompletionRequest.model_validate(given["body"])
    native = given["native"]
    question = _question("cmpl-1", body, native)
    if not body.stream:
        items = generation(native)
        if body.logprobs is None:  # then there are none
            items = [item._replace(logprobs=()) if isinstance(item, Chunk) else item for item in items]
        _assert_same(record, TextForm().whole(question, [Answer.of(items)]))
        return
    encoder = TextForm().events(question, 0, Costs(1))
    stream = b"".join(encoder.encode([item]) for item in generation(native))
    _assert_stream(record, stream + _broken_off(native), clock=True)


@pytest.mark.parametrize("record", answers("embeddings_response"))
def test_vectors_become_the_recorded_reply(record: Record) -> None:
    given = record["in"]
    native = given["native"]
    answer = native["object"]
    body = wire.EmbeddingRequest.model_validate(given["body"])
    vectors = [np.array(vector, dtype=np.float32) for vector in answer["embeddings"]]
    tokens = answer.get("prompt_eval_count", 0)
    _assert_same(record, embeddings(body.model, vectors, tokens, to_encoding(body)))


@pytest.mark.parametrize("record", answers("models"))
def test_models_are_listed_as_recorded(record: Record) -> None:
    native, route = record["in"]["native"], record["in"]["route"]
    answer = native["object"]
    reply: Wire
    if "models" in answer:
        names = [(ModelName.parse(entry["name"]), entry["modified_at"]) for entry in answer["models"]]
        cards = [card(name.short, name, created_ns(time)) for name, time in names]
        reply = wire.ModelList(data=cards or None)
    else:
        text = route.rpartition("/")[2]
        reply = card(text, ModelName.parse(text), created_ns(answer["modified_at"]))
    _assert_same(record, json.loads(encode(reply)))


def created_ns(time: str) -> int:
    """A recorded time in nanoseconds since the epoch."""
    return created({"object": {"created_at": time}}) * 10**9


def _question(
    id_: str, body: wire.ChatCompletionRequest | wire.CompletionRequest, native: Mapping[str, Any]
) -> Question:
    def never(index: int) -> AbstractAsyncContextManager[Reply]:
        raise AssertionError("nobody is asked")

    usage = body.stream_options is not None and body.stream_options.include_usage
    return Question(identity=Identity(id_, created(native), body.model), open=never, include_usage=usage)


def _whole_chat(question: Question, native: Mapping[str, Any]) -> dict[str, Any]:
    info = native.get("object", {}).get("_debug_info")
    if info:
        rendered = RenderedPrompt(info["rendered_template"], info.get("image_count", 0))
        return ChatForm().rendered(question, rendered)
    return ChatForm().whole(question, [Answer.of(generation(native))])


def _broken_off(native: Mapping[str, Any]) -> bytes:
    return error_event(RunnerFailed(native["tail_error"])) if "tail_error" in native else b""


def _assert_same(record: Record, reply: Any) -> None:
    """A reply in one piece is the recorded one. Where that has no reason, ours is ``stop`` all the same."""
    actual = masked(json.loads(dumps(reply)))
    wanted = [masked(result["body"]) for result in wanted_results(record)]
    object_ = record["in"]["native"].get("object", {})
    if object_.get("done") and "done_reason" not in object_:
        for body in wanted:
            body["choices"][0]["finish_reason"] = "stop"
    assert any(same(body, actual) for body in wanted), actual


def _assert_stream(record: Record, stream: bytes, *, clock: bool = False) -> None:
    """A stream is the recorded one. One that broke off ends with our error instead of an empty event."""
    actual, wanted = events(stream), [events(result["body"]) for result in wanted_results(record)]
    if "tail_error" in record["in"]["native"]:
        failure = actual.pop()
        assert failure["error"]["message"] == record["in"]["native"]["tail_error"]
        wanted = [stream[:-1] if stream and stream[-1].get("model") == "" else stream for stream in wanted]
    if clock:
        for event in actual:
            if isinstance(event, dict):
                event["created"] = 0
    assert any(same(stream, actual) for stream in wanted), actual
