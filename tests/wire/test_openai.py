"""Bodies of the OpenAI API."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.wire import openai as wire
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.model import decode, encode
from orchestrator.wire.responses import ResponsesRequest


def test_names_match_in_any_case_and_nulls_are_as_good_as_nothing() -> None:
    body = decode({"MODEL": "m", "Stream": None, "n": None, "tools": None}, wire.ChatCompletionRequest)
    assert (body.model, body.stream, body.n, body.tools) == ("m", False, None, ())


def test_calls_may_be_absent_or_none_at_all() -> None:
    messages = [{"role": "assistant"}, {"role": "assistant", "tool_calls": []}]
    body = decode({"messages": messages}, wire.ChatCompletionRequest)
    assert [message.tool_calls for message in body.messages or ()] == [None, []]


@pytest.mark.parametrize(
    "members",
    [{"model": 5}, {"max_tokens": 1.5}, {"temperature": "1"}, {"stream": 1}, {"logit_bias": []}, {"n": "2"}],
)
def test_types_are_strict(members: dict[str, Any]) -> None:
    with pytest.raises(InvalidBody):
        decode(members, wire.ChatCompletionRequest)


@pytest.mark.parametrize("members", [{"include": "x"}, {"truncation": 5}, {"tools": {}}, {"stream": "x"}])
def test_types_are_strict_in_responses(members: dict[str, Any]) -> None:
    with pytest.raises(InvalidBody):
        decode(members, ResponsesRequest)


def test_tools_of_a_response_may_be_grouped() -> None:
    group = {"type": "namespace", "name": "sea", "tools": [{"type": "function", "name": "tide"}]}
    [tool] = decode({"tools": [group]}, ResponsesRequest).tools
    assert [inner.name for inner in tool.tools or ()] == ["tide"]


def test_models_are_written_in_the_order_of_the_api() -> None:
    listed = wire.ModelList(data=[wire.Model(id="m:latest", created=7, owned_by="library")])
    assert encode(listed) == (
        b'{"object":"list","data":[{"id":"m:latest","object":"model","created":7,"owned_by":"library"}]}'
    )
