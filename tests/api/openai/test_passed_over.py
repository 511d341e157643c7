"""What is told of values that change nothing."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.openai.passed_over import in_chat, in_completion, in_transcription
from orchestrator.api.openai.responses.passed_over import in_response
from orchestrator.wire import openai as wire
from orchestrator.wire import responses
from orchestrator.wire.model import decode

SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
FUNCTION = {"type": "function", "function": {"name": "f"}}


def of_chat(**members: Any) -> list[str]:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **members}
    return list(in_chat(decode(body, wire.ChatCompletionRequest)))


def of_response(**members: Any) -> list[str]:
    return list(in_response(decode({"model": "m", "input": "x", **members}, responses.ResponsesRequest)))


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"response_format": {"type": "text"}, "stop": "x", "modalities": ["text"]},
        {"response_format": {"type": " JSON_object "}, "stop": ["a", "b"], "top_logprobs": 0},
        {"response_format": SCHEMA, "logprobs": True, "top_logprobs": 3, "tools": [FUNCTION]},
        {"response_format": None, "stop": None, "user": "u", "metadata": {"a": "b"}, "store": True},
    ],
)
def test_an_ordinary_chat_is_not_warned_of(members: Any) -> None:
    assert of_chat(**members) == []


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"response_format": {"type": "banana"}}, "response_format"),
        ({"response_format": {}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}}, "response_format"),
        ({"stop": 5}, "stop"),
        ({"stop": {"a": 1}}, "stop"),
        ({"stop": ["a", 5]}, "stop[1]"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"modalities": "text"}, "modalities"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"web_search_options": {}}, "web_search_options"),
        ({"tools": [FUNCTION, {"type": "web_search"}]}, "tools[1].type"),
        ({"messages": [{"role": "assistant", "content": "", "audio": {"id": "x"}}]}, "messages[0].audio"),
        (
            {"messages": [{"role": "assistant", "content": "", "function_call": {}}]},
            "messages[0].function_call",
        ),
    ],
)
def test_a_value_of_a_chat_that_changes_nothing_is_named(members: Any, place: str) -> None:
    (text,) = of_chat(**members)
    assert text.startswith(f"{place} has no effect: ")


def test_a_stop_of_a_completion_that_is_none_is_named() -> None:
    assert list(in_completion(decode({"prompt": "x", "stop": ["a"]}, wire.CompletionRequest))) == []
    assert len(list(in_completion(decode({"prompt": "x", "stop": 5}, wire.CompletionRequest)))) == 1


@pytest.mark.parametrize(
    "fields",
    [{}, {"response_format": "json", "temperature": "0.0"}, {"response_format": "text", "temperature": "0"}],
)
def test_an_ordinary_transcription_is_not_warned_of(fields: dict[str, str]) -> None:
    assert list(in_transcription({"model": "m", "language": "en", **fields})) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("response_format", "verbose_json"),
        ("timestamp_granularities[]", "word"),
        ("include[]", "logprobs"),
        ("temperature", "0.7"),
        ("temperature", "hot"),
    ],
)
def test_a_field_of_a_transcription_that_changes_nothing_is_named(name: str, value: str) -> None:
    (text,) = in_transcription({"model": "m", name: value})
    assert text.startswith(f"{name} has no effect: ")


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"text": {"verbosity": "low"}, "truncation": "auto"},
        {"text": {"format": {"type": "text"}}, "truncation": "disabled"},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
        {"tools": [{"type": "function", "name": "f"}, {"type": "web_search"}, {"type": "namespace"}]},
    ],
)
def test_an_ordinary_response_is_not_warned_of(members: Any) -> None:
    assert of_response(**members) == []


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"text": {"format": {"type": "banana"}}}, "text.format"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"truncation": "banana"}, "truncation"),
        ({"tools": [{"type": "code_interpreter"}]}, "tools[0].type"),
    ],
)
def test_a_value_of_a_response_that_changes_nothing_is_named(members: Any, place: str) -> None:
    (text,) = of_response(**members)
    assert text.startswith(f"{place} has no effect: ")
