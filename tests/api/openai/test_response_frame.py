"""What a response repeats of its request."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.openai.responses.events import ResponseEvents
from orchestrator.api.openai.responses.frame import ResponseFrame
from orchestrator.domain.chunks import Chunk, ToolCall
from orchestrator.wire import responses as wire
from orchestrator.wire.model import decode
from tests.api.openai.vectors import events


def frame(**members: Any) -> ResponseFrame:
    return ResponseFrame.new(decode({"model": "m", **members}, wire.ResponsesRequest))


@pytest.mark.parametrize(
    ("given", "whole", "streamed"),
    [
        (None, None, None),
        ({}, None, None),
        ({"effort": "", "summary": None}, None, None),
        ({"effort": "low"}, {"effort": "low"}, {"effort": "low", "summary": None}),
        ({"summary": "auto"}, {"summary": "auto"}, {"effort": None, "summary": "auto"}),
    ],
)
def test_the_wish_for_thoughts_is_whole_in_streams(given: Any, whole: Any, streamed: Any) -> None:
    assert frame(reasoning=given).begun()["reasoning"] == whole
    assert frame(reasoning=given, stream=True).begun()["reasoning"] == streamed


def test_tools_in_streams_have_five_members() -> None:
    inner = {"type": "function", "name": "f"}
    tools = [{"type": "namespace", "name": "n", "tools": [inner]}]
    unsaid = {"description": None, "strict": None, "parameters": None}
    told = {"type": "namespace", "name": "n", **unsaid}
    assert frame(tools=tools, stream=True).begun()["tools"] == [told]
    assert frame(tools=tools).begun()["tools"] == [{**told, "tools": [{**inner, **unsaid}]}]


def test_calls_that_come_together_are_numbered_from_zero() -> None:
    call = ToolCall("f", {}, id="c")
    writer = ResponseEvents(frame(stream=True))
    told = events(writer.encode([Chunk(tool_calls=(call, call)), Chunk(tool_calls=(call,))]))
    ids = [data["item"]["id"] for name, data in told if name == "response.output_item.done"]
    assert [id_.rpartition("_")[2] for id_ in ids] == ["0", "1", "0"]
