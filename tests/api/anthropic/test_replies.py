"""Replies to Messages requests, in one piece and as events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.api.anthropic.convert import to_chat
from orchestrator.api.anthropic.errors import ANTHROPIC, error_event
from orchestrator.api.anthropic.events import Events
from orchestrator.api.anthropic.message import MessageFrame
from orchestrator.api.anthropic.whole import whole_message
from orchestrator.api.events import EVENT_STREAM
from orchestrator.api.replies import PLAIN_JSON
from orchestrator.errors import EngineRefused, RunnerFailed
from orchestrator.wire import anthropic as wire
from orchestrator.wire.model import decode
from tests.golden_records import Record, matches, records
from tests.native_form import batches, joined

FILE = "anthropic/messages_response.jsonl"

ADDED = ("cache_read_input_tokens", "signature", "stop_sequence", "stop_reason", "id")
"""Members that Ollama's replies lack where ours have them."""

SEARCHING = "there is nothing to search the web with"


def _parameters() -> list[Any]:
    return [pytest.param(record, id=record["id"], marks=_marks(record)) for record in records(FILE)]


def _marks(record: Record) -> list[pytest.MarkDecorator]:
    if any("results" in found for found in record["in"]["native"].get("search", ())) and record.get("calls"):
        return [pytest.mark.skip(reason=SEARCHING)]
    return []


@pytest.mark.parametrize("record", _parameters())
def test_a_reply_is_the_recorded_one(record: Record) -> None:
    body = decode(record["in"]["body"], wire.MessagesRequest)
    to_chat(body)
    expected = _expected(record)
    actual = _reply(body, record["in"]["native"])
    if isinstance(actual["body"], str):
        expected["body"], actual["body"] = _events(expected["body"]), _events(actual["body"])
    actual["body"] = _without_additions(expected["body"], actual["body"])
    assert matches(expected, actual, masks={"_ID": "_<ANY>"})


def _expected(record: Record) -> Record:
    """The record as far as it is about the reply; its end where a stream broke off is ours."""
    expected = {key: value for key, value in record.items() if key != "calls"}
    native = record["in"]["native"]
    if "tail_error" in native:
        expected["body"] += error_event(RunnerFailed(native["tail_error"])).decode()
    first = native.get("chunks", [{}])[0]
    if "prompt_eval_count" in first and first["message"]["content"]:
        # the count is part of the end, which is an item of its own behind the text
        expected["free"] = ["body.0.message.usage.input_tokens"]
    return expected


def _reply(body: wire.MessagesRequest, native: Mapping[str, Any]) -> dict[str, Any]:
    if "status" in native:
        error = EngineRefused(native.get("error", native.get("raw_error")), status=native["status"])
        reply = ANTHROPIC.reply(error, content_type=PLAIN_JSON)
        assert isinstance(reply.body, bytes)
        return {"status": reply.status, "content_type": PLAIN_JSON, "body": json.loads(reply.body)}
    frame, items = replace(MessageFrame.of(body), model=_model(native)), batches(native)
    if not body.stream:
        message = whole_message(frame, joined(items))
        return {"status": 200, "content_type": PLAIN_JSON, "body": json.loads(json.dumps(message))}
    events = Events(frame)
    text = b"".join(map(events.encode, items))
    if "tail_error" in native:
        text += error_event(RunnerFailed(native["tail_error"]))
    return {"status": 200, "content_type": EVENT_STREAM, "body": text.decode()}


def _model(native: Mapping[str, Any]) -> str:
    record = native["object"] if "object" in native else native["chunks"][0]
    return str((json.loads(record) if isinstance(record, str) else record)["model"])


def _events(text: str) -> list[dict[str, Any]]:
    """The events of a stream; JSON in the text of an event is parsed."""
    events = []
    for frame in filter(None, text.split("\n\n")):
        event, data = frame.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert event == f"event: {value['type']}"
        if "partial_json" in value.get("delta", {}):
            value["delta"]["partial_json"] = json.loads(value["delta"]["partial_json"])
        if value["type"] == "error":
            del value["request_id"]
        events.append(value)
    return events


def _without_additions(expected: Any, actual: Any) -> Any:
    match expected, actual:
        case dict(), dict():
            return {
                key: _without_additions(expected.get(key), value)
                for key, value in actual.items()
                if key in expected or key not in ADDED
            }
        case list(), list():
            padded = [*expected, *[None] * len(actual)]
            return [_without_additions(*pair) for pair in zip(padded, actual, strict=False)]
    return actual
