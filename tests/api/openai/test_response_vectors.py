"""Recorded vectors of Responses: bodies become the right requests, what models say the right replies."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from orchestrator.api.errors import status_of
from orchestrator.api.openai.errors import OPENAI
from orchestrator.api.openai.reading import EmptyBody
from orchestrator.api.openai.responses.convert import to_chat
from orchestrator.api.openai.responses.events import ResponseEvents
from orchestrator.api.openai.responses.frame import ResponseFrame
from orchestrator.api.openai.responses.rounds import Conversation
from orchestrator.api.openai.responses.route import event_records
from orchestrator.api.openai.responses.tools import offers_search
from orchestrator.api.openai.responses.whole import whole_response
from orchestrator.domain.chunks import Batches, Item
from orchestrator.domain.requests import ChatRequest
from orchestrator.errors import OrchestratorError, RunnerFailed
from orchestrator.inference.reply import Generation, Reply
from orchestrator.inference.search import SearchFailed, SearchResult
from orchestrator.wire import responses as wire
from orchestrator.wire.errors import MissingBody
from orchestrator.wire.json import dumps
from orchestrator.wire.model import decode_body
from tests.api.openai.vectors import (
    body_bytes,
    created,
    events,
    generation,
    masked,
    native_chat,
    refusal,
    without_ours,
)
from tests.golden_records import Record, cases, matches, same, wanted_results

NUMBER = 4711
"""The number in the id of every response here, unlike any that is drawn."""


@pytest.mark.parametrize("record", cases("openai/responses_request.jsonl"))
def test_a_body_becomes_the_recorded_request(record: Record) -> None:
    outcome: dict[str, Any]
    try:
        body, _ = decode_body(body_bytes(record), wire.ResponsesRequest)
        native = native_chat(to_chat(body), stream=body.stream)
        outcome = {
            "out": {"native": _without_json_mode(without_ours(native, record["in"].get("body")), body)}
        }
        if text := record.get("out", {}).get("native_text"):
            outcome["out"]["native_text"] = text
    except MissingBody:
        outcome = _refused(EmptyBody())
    except OrchestratorError as error:
        outcome = _refused(error)
    if "content_type" in record:
        outcome["content_type"] = record["content_type"]
    assert matches(record, outcome), outcome


@pytest.mark.parametrize("record", cases("openai/responses_response.jsonl"))
async def test_what_a_model_says_becomes_the_recorded_response(record: Record) -> None:
    native, body = record["in"]["native"], wire.ResponsesRequest.model_validate(record["in"]["body"])
    if "status" in native:
        assert same((record["status"], record["body"]), refusal(native))
        return
    script = Script(native, stream=body.stream)
    search = script.search if offers_search(body.tools) else None
    conversation = Conversation(to_chat(body), script.ask, search)
    frame = ResponseFrame(body, NUMBER, created(native))
    if body.stream:
        stream = await _streamed(conversation, ResponseEvents(frame))
        _assert_stream(record, stream)
    else:
        _assert_whole(record, await _whole(conversation, frame))
    if "calls" in record:
        assert same(record["calls"], script.calls), script.calls


@dataclass
class Script:
    """What the model and the search service answer, in order, and what they were asked."""

    native: Mapping[str, Any]
    stream: bool
    calls: list[dict[str, Any]] = field(default_factory=list)
    _asked: int = 0
    _searched: int = 0

    def ask(self, wanted: ChatRequest) -> AbstractAsyncContextManager[Reply]:
        """The next answer of the model; the first question is the client's own."""
        answers = [self.native, *({"chunks": chunks} for chunks in self.native.get("follow_ups", ()))]
        if self._asked:
            body = {"messages": [], **native_chat(wanted, stream=self.stream)}
            self.calls.append({"to": "chat", "body": body})
        answer = generation(answers[self._asked])
        self._asked += 1
        return _replying(answer, self.native.get("tail_error"))

    async def search(self, query: str) -> Sequence[SearchResult]:
        """The next pages found."""
        self.calls.append({"to": "search", "body": {"query": query, "max_results": 5}})
        found = self.native["search"][self._searched :]
        self._searched += 1
        if not found:
            raise SearchFailed("search down", status=503)
        return [SearchResult(page["title"], page["url"], page["content"]) for page in found[0]["results"]]


@asynccontextmanager
async def _replying(items: Sequence[Item], failure: str | None) -> AsyncIterator[Reply]:
    async def batches() -> Batches:
        for item in items:
            yield [item]
        if failure is not None:
            raise RunnerFailed(failure)

    yield Generation(batches(), 0, 0)


async def _streamed(conversation: Conversation, encoder: ResponseEvents) -> bytes:
    """The stream; one without an end has none here, for ours always have one."""
    has_end = any(not isinstance(item, tuple) for item in generation(_last_answer(conversation)))
    stream = b""
    try:
        async for record in event_records(
            conversation, encoder, {}, lambda: encoder.end(conversation.usage, {}) if has_end else b""
        ):
            stream += record
    except RunnerFailed as error:
        stream += encoder.failed(str(error), code="server_error")
    return stream


def _last_answer(conversation: Conversation) -> Mapping[str, Any]:
    script = conversation.ask.__self__  # type: ignore[attr-defined]
    follow_ups = script.native.get("follow_ups")
    return {"chunks": follow_ups[-1]} if follow_ups else script.native


async def _whole(conversation: Conversation, frame: ResponseFrame) -> dict[str, Any]:
    try:
        async for _ in conversation.steps():
            pass
    except SearchFailed as error:
        return _refused(error)
    return {"status": 200, "body": whole_response(frame, conversation, {})}


def _assert_whole(record: Record, reply: dict[str, Any]) -> None:
    body = json.loads(dumps(reply["body"]))
    if body.get("completed_at"):
        body["completed_at"] = 0
    actual = {"status": reply["status"], "body": _numbered(masked(body))}
    wanted = [
        {"status": result["status"], "body": masked(result["body"])} for result in wanted_results(record)
    ]
    assert any(same(one, actual) for one in wanted), actual


def _assert_stream(record: Record, stream: bytes) -> None:
    actual = events(_clockless(stream))
    if "tail_error" in record["in"]["native"]:
        name, failure = actual.pop()
        assert name == "response.failed"
        assert failure["response"]["error"]["message"] == record["in"]["native"]["tail_error"]
    wanted = [events(result["body"]) for result in wanted_results(record)]
    free = record.get("free", ())
    assert "body" in free or any(same(one, _numbered(actual)) for one in wanted), actual


def _clockless(stream: bytes) -> bytes:
    return re.sub(rb'"(completed_at|created_at)":\d+', rb'"\1":0', stream)


def _numbered(value: Any) -> Any:
    """``value`` with ids as in the vectors: the response's number is ID, others count per kind."""
    seen: dict[str, list[str]] = {}

    def name(found: re.Match[str]) -> str:
        kind, number, rest = found[1], found[2], found[3]
        if number == str(NUMBER):
            return f"{kind}_ID{rest}"
        numbers = seen.setdefault(kind, [])
        if number not in numbers:
            numbers.append(number)
        return f"{kind}_N{numbers.index(number) + 1}{rest}"

    text = json.dumps(value)
    text = text.replace(f"resp_{NUMBER}", "resp_ID")
    return json.loads(re.sub(r"\b(msg|rs|fc|ws)_(\d+)((?:_\d+)?)\b", name, text))


def _without_json_mode(native: dict[str, Any], body: wire.ResponsesRequest) -> dict[str, Any]:
    """Ollama passes over JSON mode in Responses."""
    if body.text and body.text.format and body.text.format.type == "json_object":
        assert native.pop("format") == "json"
    return native


def _refused(error: OrchestratorError) -> dict[str, Any]:
    status = status_of(error)
    return {"status": status, "body": OPENAI.body(error, status)}
