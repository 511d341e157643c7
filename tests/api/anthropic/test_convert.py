"""Messages requests as domain requests."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.anthropic.convert import to_chat
from orchestrator.api.anthropic.errors import ANTHROPIC
from orchestrator.api.anthropic.estimate import estimated_tokens
from orchestrator.api.errors import status_of
from orchestrator.errors import OrchestratorError
from orchestrator.wire import anthropic as wire
from orchestrator.wire.json import dumps, loads
from orchestrator.wire.model import decode
from tests.golden_records import Record, cases, matches
from tests.native_form import native_chat

RANDOM = {"req_ID": "<ANY>"}


@pytest.mark.parametrize("record", cases("anthropic/messages_request.jsonl"))
def test_a_request_becomes_the_recorded_one_or_is_refused(record: Record) -> None:
    given = record["in"]
    raw = given["body_text"].encode() if "body_text" in given else dumps(given["body"])
    assert matches(record, _outcome(raw, record), masks=RANDOM)


def _outcome(raw: bytes, record: Record) -> dict[str, Any]:
    try:
        body = decode(loads(raw), wire.MessagesRequest)
        native = native_chat(to_chat(body), stream=body.stream)
    except OrchestratorError as error:
        status = status_of(error)
        content_type = ANTHROPIC.reply(error).headers["Content-Type"]
        return {"status": status, "body": ANTHROPIC.body(error, status), "content_type": content_type}
    out: dict[str, Any] = {"native": native}
    if "native_text" in record.get("out", {}):
        out["native_text"] = dumps(native).decode()
    return {"out": out}


@pytest.mark.parametrize("record", cases("anthropic/token_estimate.jsonl"))
def test_the_tokens_of_a_request_are_guessed_as_recorded(record: Record) -> None:
    body = decode({"model": "owlet", "max_tokens": 1, **record["in"]}, wire.MessagesRequest)
    assert matches(record, {"out": {"input_tokens": estimated_tokens(body)}})
