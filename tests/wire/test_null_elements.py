"""A null in a list is the empty value of its kind, as in Go."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.wire import anthropic, native, responses
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.model import Wire, decode


@pytest.mark.parametrize(
    ("kind", "name", "given", "read"),
    [
        (native.GenerateRequest, "images", [None, "eA=="], [b"", b"x"]),
        (native.GenerateRequest, "context", [1, None], [1, 0]),
        (native.Message, "images", [None], [b""]),
        (native.Message, "tool_calls", [None], [native.ToolCall()]),
        (native.ChatRequest, "messages", [None], [native.Message()]),
        (native.CreateRequest, "messages", [None], [native.Message()]),
        (anthropic.MessagesRequest, "stop_sequences", ["x", None], ["x", ""]),
        (responses.ResponsesRequest, "include", [None], [""]),
    ],
)
def test_a_null_is_the_empty_value(kind: type[Wire], name: str, given: list[Any], read: list[Any]) -> None:
    assert getattr(decode({name: given}, kind), name) == read


@pytest.mark.parametrize(
    ("kind", "name", "given"),
    [
        (native.GenerateRequest, "context", [1.5]),
        (native.GenerateRequest, "context", [False]),
        (native.GenerateRequest, "images", [5]),
        (anthropic.MessagesRequest, "stop_sequences", [5]),
    ],
)
def test_other_kinds_are_refused_as_before(kind: type[Wire], name: str, given: list[Any]) -> None:
    with pytest.raises(InvalidBody, match=rf"{name}\[0\]: expected"):
        decode({name: given}, kind)
