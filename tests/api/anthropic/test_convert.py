"""Messages requests as domain requests."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.anthropic.conversation import unread_blocks
from orchestrator.api.anthropic.convert import to_chat, to_counted, wants_thoughts
from orchestrator.api.anthropic.errors import ANTHROPIC, InvalidRequest, ThreadsNotSupported
from orchestrator.api.anthropic.estimate import estimated_tokens
from orchestrator.api.errors import status_of
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.formats import SchemaFormat
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.tool_choice import AUTO, InvalidToolChoice, ToolChoice, ToolUse
from orchestrator.errors import BadRequest, OrchestratorError
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


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        ({"messages": [{"role": "", "content": [{"type": "document", "text": "x" * 40}]}]}, 10),
        ({"messages": [{"role": "", "content": [{"type": "text", "thinking": "x" * 40}]}]}, 10),
        ({"system": [{"type": "owl", "text": "x" * 40}, {"text": 5}, 5, None]}, 10),
        ({"system": "é" * 20}, 10),
        ({"tools": [{"name": "x" * 20, "description": "x" * 20}]}, 10),
        ({"messages": [{"role": "", "content": [{"type": "image", "source": {"data": "x" * 40}}]}]}, 1),
    ],
)
def test_all_text_counts_whatever_block_it_is_in(given: Any, tokens: int) -> None:
    assert estimated_tokens(decode({"model": "m", **given}, wire.MessagesRequest)) == tokens


def chat(**members: Any) -> ChatRequest:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}], **members}
    return to_chat(decode(body, wire.MessagesRequest))


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        (None, AUTO),
        ({"type": "auto"}, AUTO),
        ({"type": "none"}, ToolChoice(ToolUse.NONE)),
        ({"type": "any"}, ToolChoice(ToolUse.REQUIRED)),
        ({"type": "tool", "name": "f"}, ToolChoice(ToolUse.REQUIRED, "f")),
        ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice(ToolUse.REQUIRED, parallel=False)),
    ],
)
def test_the_choice_of_tools(value: Any, choice: ToolChoice) -> None:
    assert chat(tool_choice=value).tool_choice == choice


@pytest.mark.parametrize("value", [{"type": "tool"}, {"type": "owl"}, {}, 5])
def test_another_choice_of_tools_is_refused(value: Any) -> None:
    with pytest.raises(InvalidToolChoice):
        chat(tool_choice=value)


SCHEMA = {"type": "object", "properties": {"b": {}, "a": {}}}


@pytest.mark.parametrize("members", [{"output_config": {"format": None}}, {"output_config": {}}, {}])
def test_an_answer_has_any_form(members: Any) -> None:
    assert chat(**members).format is None


@pytest.mark.parametrize("place", ["output_format", "output_config"])
def test_an_answer_has_the_form_of_a_schema(place: str) -> None:
    wanted = {"type": "json_schema", "schema": SCHEMA}
    members = {place: wanted} if place == "output_format" else {place: {"format": wanted}}
    assert chat(**members).format == SchemaFormat(SCHEMA)


@pytest.mark.parametrize("value", [{"type": "json_schema"}, {"type": "grammar", "schema": {}}, "json"])
def test_another_form_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="json_schema"):
        chat(output_config={"format": value})


def test_a_thread_is_refused_in_the_form_that_clients_go_on_from() -> None:
    with pytest.raises(ThreadsNotSupported) as refused:
        chat(thread={"type": "create"})
    told = ANTHROPIC.record(refused.value)["error"]
    assert told["type"] == "invalid_request_error"
    assert told["details"] == {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}


def test_blocks_that_no_model_reads_are_named() -> None:
    content = [{"type": "document"}, {"type": "text", "text": "x"}, {"type": "document"}, {"type": "owl"}]
    turns = [decode({"role": "user", "content": content}, wire.Message)]
    assert unread_blocks(turns) == (
        'content blocks of type "document" were left out',
        'content blocks of type "owl" were left out',
    )


def turn(*blocks: Any, role: str = "user") -> tuple[Message, ...]:
    return chat(messages=[{"role": role, "content": list(blocks)}]).messages


BAD_IMAGE = {"type": "image"}
BAD_RESULT = {"type": "tool_result", "content": [{"type": "image"}]}
BAD_USE = {"type": "tool_use", "name": "f"}


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ([BAD_IMAGE, BAD_RESULT, BAD_USE], "^invalid image source$"),
        ([BAD_RESULT, BAD_USE, BAD_IMAGE], "^invalid tool_result image source$"),
        ([BAD_USE, BAD_IMAGE, BAD_RESULT], "^tool_use block missing required 'id' field$"),
    ],
)
def test_of_several_wrong_blocks_the_first_is_told(blocks: Any, told: str) -> None:
    with pytest.raises(OrchestratorError, match=told):
        turn(*blocks)


def test_the_servers_own_calls_need_no_id() -> None:
    [message] = turn({"type": "server_tool_use", "input": {"q": 1}}, role="assistant")
    assert message.tool_calls == (ToolCall("", {"q": 1}),)


def test_a_thought_that_is_none_takes_no_other_ones_place() -> None:
    thought = {"type": "thinking", "thinking": "a"}
    assert turn(thought, {"type": "thinking", "thinking": None}, role="assistant")[0].thinking == "a"
    assert turn(thought, {"type": "thinking", "thinking": ""}, role="assistant") == ()


PAGE = {"type": "web_search_result", "title": "T", "url": "U"}
FAILURE = {"type": "web_search_tool_result_error", "error_code": "e"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([PAGE, {**PAGE, "title": None, "url": 5}, "x", {"type": "owl"}], "- T: U\n- : \n"),
        ([PAGE, FAILURE], "web_search_tool_result_error: e"),
        ([{**FAILURE, "error_code": 5}], "web_search_tool_result_error"),
        ({**FAILURE, "error_code": ""}, "web_search_tool_result_error"),
        ([], ""),
        ({"b": [1, None], "a": "<"}, '{"a":"\\u003c","b":[1,null]}'),
        (5, "5"),
        (True, "true"),
    ],
)
def test_what_a_search_brought_is_text(content: Any, text: str) -> None:
    block = {"type": "web_search_tool_result", "tool_use_id": "s", "content": content}
    assert turn(block, role="assistant") == (Message("tool", text, tool_call_id="s"),)


@pytest.mark.parametrize("members", [{"max_tokens": 1 << 63}, {"top_k": -1 << 64}])
def test_numbers_beyond_all_bounds_are_refused(members: Any) -> None:
    with pytest.raises(BadRequest):
        chat(**members)


@pytest.mark.parametrize(
    ("members", "wants"),
    [
        ({}, False),
        ({"thinking": {"type": "enabled"}}, True),
        ({"thinking": {"type": "adaptive"}}, True),
        ({"thinking": {"type": "disabled"}}, False),
        ({"output_config": {"effort": "high"}}, True),
    ],
)
def test_whether_thoughts_are_wanted(members: Any, wants: bool) -> None:
    body = decode({"model": "m", **members}, wire.MessagesRequest)
    assert wants_thoughts(body) is wants


def test_what_is_counted_needs_no_budget() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "system": "s"}
    request = to_counted(decode(body, wire.CountTokensRequest))
    assert request.messages == (Message("system", "s"), Message("user", "x"))
    for lacking in ("model", "messages"):
        rest = {name: value for name, value in body.items() if name != lacking}
        with pytest.raises(InvalidRequest, match=f"^{lacking} is required$"):
            to_counted(decode(rest, wire.CountTokensRequest))
