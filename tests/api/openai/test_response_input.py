"""The input of Responses: what is said of faults in it, and which messages it makes."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.openai.responses.conversation import to_messages
from orchestrator.api.openai.responses.convert import to_chat
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.wire import responses as wire
from orchestrator.wire.model import decode

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
BAD_CALL = {**CALL, "arguments": "["}
FILE = {"type": "input_file", "file_id": "x"}
REMOTE = {"type": "input_image", "image_url": "https://owl/x.png"}
ODD = {"type": "owl"}


def said(*parts: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(parts)}


def refusal(*items: Any) -> str:
    with pytest.raises(BadRequest) as refused:
        to_messages(list(items))
    return str(refused.value)


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([None], "input[0]: input item missing required 'type' field"),
        ([{}], "input[0]: input item missing required 'type' field"),
        ([{"type": None, "role": ""}], "input[0]: input item missing required 'type' field"),
        ([CALL, {"type": 'o"wl'}], r'input[1]: unknown input item type: "o\"wl"'),
        ([{"type": "Message", "role": "user"}], 'input[0]: unknown input item type: "Message"'),
        ([said(None)], "input[0]: content[0]: unknown content type: "),
        ([said({"type": "input_text"}, ODD)], "input[0]: content[1]: unknown content type: owl"),
        ([{"role": "user", "content": 5}], "input[0]: content must be a string or array"),
        (
            [{"type": "function_call_output", "output": {"a": 1}}],
            "input[0]: output must be a string or array",
        ),
        (
            [{"type": "function_call_output", "output": [ODD]}],
            "input[0]: output[0]: unknown content type: owl",
        ),
    ],
)
def test_a_malformed_item_is_named_by_its_place(items: Any, told: str) -> None:
    assert refusal(*items) == told


@pytest.mark.parametrize(
    "item", ["text", 5, ["x"], {"type": 5}, {"type": "message", "role": 5}, said("text")]
)
def test_a_value_of_a_wrong_type_is_refused_by_its_place(item: Any) -> None:
    assert refusal(item).startswith("input[0]: ")


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([BAD_CALL, ODD], "input[1]: unknown input item type"),
        ([said(FILE), said(ODD)], "input[1]: content[0]: unknown content type"),
        ([said(FILE, ODD)], "input[0]: content[1]: unknown content type"),
        ([said(REMOTE, FILE), BAD_CALL], "image URLs are not currently supported"),
        ([said(FILE, REMOTE), BAD_CALL], "file inputs are not currently supported"),
        ([BAD_CALL, said(FILE)], "failed to parse function call arguments"),
    ],
)
def test_faults_of_form_are_told_before_those_of_sense_and_both_in_order(items: Any, told: str) -> None:
    assert refusal(*items).startswith(told)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"input": [BAD_CALL], "reasoning": {"effort": "owl"}}, "failed to parse"),
        (
            {"reasoning": {"effort": "owl"}, "tools": [{"type": "function", "parameters": 5}]},
            "invalid reasoning",
        ),
        ({"tools": [{"type": "function", "parameters": 5}], "tool_choice": 5}, "failed to unmarshal"),
    ],
)
def test_the_input_is_looked_at_before_the_effort_and_that_before_tools(members: Any, told: str) -> None:
    body = decode({"model": "m", "input": "x", **members}, wire.ResponsesRequest)
    with pytest.raises(BadRequest, match=told):
        to_chat(body)


def test_names_of_members_are_known_in_any_case() -> None:
    item = {"TYPE": "message", "Role": "USER", "content": [{"Type": "input_text", "TEXT": "a"}]}
    assert to_messages([item]) == (Message("user", "a"),)


@pytest.mark.parametrize("content", [None, "", []])
def test_a_message_may_be_empty(content: Any) -> None:
    assert to_messages([{"role": "user", "content": content}]) == (Message("user"),)


def test_what_was_said_after_a_call_joins_it_when_its_result_follows() -> None:
    words = {"role": "assistant", "content": "So."}
    result = {"type": "function_call_output", "call_id": "c", "output": "4m"}
    call = ToolCall("f", {}, id="c")
    assert to_messages([CALL, words, result]) == (
        Message("assistant", "So.", tool_calls=(call,)),
        Message("tool", "4m", tool_call_id="c"),
    )
    assert to_messages([CALL, words, {**result, "call_id": "d"}])[1] == Message("assistant", "So.")
    nameless = [{**CALL, "call_id": ""}, words, {**result, "call_id": ""}]
    assert to_messages(nameless)[1] == Message("assistant", "So.")


def test_searches_of_the_server_are_no_messages() -> None:
    assert to_messages([{"type": "web_search_call", "id": 5, "action": "x"}]) == ()
