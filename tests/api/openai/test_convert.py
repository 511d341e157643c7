"""What Ollama passes over in requests of this dialect, and we honour or refuse."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from orchestrator.api.openai.answers import choice_of
from orchestrator.api.openai.convert import (
    InvalidBias,
    InvalidChoices,
    InvalidInputType,
    InvalidStop,
    to_chat,
    to_choices,
    to_completion,
    to_embed,
    to_encoding,
    to_logit_bias,
)
from orchestrator.api.openai.errors import Unsupported
from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.formats import JsonFormat, SchemaFormat
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.think import Think
from orchestrator.domain.tool_choice import InvalidToolChoice, ToolChoice, ToolUse
from orchestrator.errors import BadRequest
from orchestrator.wire import openai as wire
from orchestrator.wire.model import decode

USER = {"role": "user", "content": "x"}


def chat(**members: Any) -> ChatRequest:
    return to_chat(decode({"model": "m", "messages": [USER], **members}, wire.ChatCompletionRequest))


def test_options_hold_under_the_fields_of_the_dialect() -> None:
    request = chat(options={"num_ctx": 8192, "temperature": 0.2, "top_p": 0.3}, temperature=0.4)
    assert request.options == {"num_ctx": 8192, "temperature": 0.4, "top_p": 0.3}  # case B005


def test_native_controls_are_taken_where_the_dialect_has_not_decided() -> None:
    request = chat(think=False, format="json", keep_alive="1m")
    assert (request.think, request.format) == (Think(False), JsonFormat())
    assert request.keep_alive is not None
    assert str(request.keep_alive) == "1m0s"
    assert chat(think=False, reasoning_effort="high").think == Think(True, "high")


def test_the_newer_limit_of_tokens_counts_before_the_older() -> None:
    assert chat(max_tokens=5, max_completion_tokens=7).options["num_predict"] == 7


@pytest.mark.parametrize(
    ("members", "choice"),
    [
        ({}, ToolChoice()),
        ({"tool_choice": "none"}, ToolChoice(ToolUse.NONE)),
        (
            {"tool_choice": "required", "parallel_tool_calls": False},
            ToolChoice(ToolUse.REQUIRED, parallel=False),
        ),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, ToolChoice(ToolUse.REQUIRED, "f")),
    ],
)
def test_the_choice_of_tools_is_understood(members: Any, choice: ToolChoice) -> None:
    assert chat(**members).tool_choice == choice


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"functions": [{"name": "f"}]}, Unsupported),
        ({"function_call": {"name": "f"}}, Unsupported),
        ({"modalities": ["audio", "text"]}, Unsupported),
        ({"tool_choice": 5}, InvalidToolChoice),
        ({"logit_bias": {"x": 1}}, InvalidBias),
    ],
)
def test_what_cannot_be_honoured_is_refused(members: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        chat(**members)


def test_biases_are_read_by_token() -> None:
    assert to_logit_bias({"5": -100, "07": 0.5}) == {5: -100, 7: 0.5}
    assert to_logit_bias(None) == {}
    for table in ({"-1": 1.0}, {"²": 1.0}, {"1": 101.0}):
        with pytest.raises(InvalidBias):
            to_logit_bias(table)


def test_the_number_of_choices_is_bounded() -> None:
    assert [to_choices(count) for count in (None, 1, 8)] == [1, 1, 8]
    for count in (-1, 0, 9):
        with pytest.raises(InvalidChoices):
            to_choices(count)


def test_choices_with_a_seed_differ() -> None:
    request = chat(seed=5)
    assert [choice_of(request, index).options["seed"] for index in range(3)] == [5, 6, 7]
    assert choice_of(chat(), 2).options == chat().options
    assert choice_of(chat(seed=-1), 1).options["seed"] == -1  # any


def test_results_of_tools_are_named_after_their_calls() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "1", "tool_call_id": "c"},
    ]
    assert chat(messages=messages).messages == (
        Message("assistant", tool_calls=(ToolCall("f", {}, id="c"),)),
        Message("tool", "1", tool_name="f", tool_call_id="c"),
    )


def test_a_result_without_an_id_is_not_named_after_a_call_without_one() -> None:
    call = {"function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "1"}]
    assert chat(messages=messages).messages[1] == Message("tool", "1")


BAD_CALL = {"function": {"name": "f", "arguments": "["}}
BAD_PART = {"role": "user", "content": [{"type": "owl"}]}


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"messages": [], "reasoning_effort": "owl", "functions": [{}]}, "is too short"),
        ({"messages": [USER, BAD_PART], "reasoning_effort": "owl"}, "invalid message format"),
        ({"messages": [{**BAD_PART, "tool_calls": [BAD_CALL]}]}, "invalid message format"),
        ({"messages": [{**USER, "tool_calls": [BAD_CALL]}, BAD_PART]}, "invalid tool call arguments"),
        ({"messages": [{"content": None}, BAD_PART]}, "invalid message content type: <nil>"),
        ({"reasoning_effort": "owl", "tool_choice": 5, "functions": [{}]}, "invalid reasoning value"),
    ],
)
def test_of_several_faults_the_first_is_told(members: Any, told: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(told)):
        chat(**members)


@pytest.mark.parametrize("effort", ["High", " low", 'a"b', "\n"])
def test_an_unknown_effort_is_told_in_quotes(effort: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(f"value: {json.dumps(effort)} (must be")):
        chat(reasoning_effort=effort)


@pytest.mark.parametrize("described", [{"name": 5}, {"strict": "yes"}, {"description": ["x"]}])
def test_how_a_schema_is_described_does_not_matter(described: Any) -> None:
    wanted = {"type": " JSON_Schema ", "json_schema": {"schema": {"type": "object"}, **described}}
    assert chat(response_format=wanted).format == SchemaFormat({"type": "object"})


def test_integers_in_arguments_stay_exact() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": '{"n": 123456789012345678901234567890}'}}
    [message] = chat(messages=[{"role": "assistant", "tool_calls": [call]}]).messages
    assert message.tool_calls[0].arguments == {"n": 123456789012345678901234567890}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("null", {}),
        (' {"a": 1}\n', {"a": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"\\udc00": "\\ud800x\\ud83d\\ude42"}', {"\ufffd": "\ufffdx\N{SLIGHTLY SMILING FACE}"}),
    ],
)
def test_arguments_are_read_as_bodies_are(text: str, arguments: Any) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": text}}
    [message] = chat(messages=[{"role": "assistant", "tool_calls": [call]}]).messages
    assert message.tool_calls[0].arguments == arguments


def completion(**members: Any) -> wire.CompletionRequest:
    return decode({"model": "m", "prompt": "x", **members}, wire.CompletionRequest)


def test_the_best_of_more_than_is_shown_is_refused() -> None:
    assert to_completion(completion(best_of=2, n=2)).prompt == "x"
    with pytest.raises(Unsupported):
        to_completion(completion(best_of=2))
    with pytest.raises(InvalidStop):
        to_completion(completion(stop=["a", None], best_of=2))


def test_the_form_of_vectors_is_looked_at_before_the_input() -> None:
    def body(**members: Any) -> wire.EmbeddingRequest:
        return decode({"model": "m", **members}, wire.EmbeddingRequest)

    assert [to_encoding(body(input="", encoding_format=form)) for form in ("", "FLOAT", "Base64")] == [
        "float",
        "float",
        "base64",
    ]
    with pytest.raises(BadRequest, match="'encoding_format' = hex"):
        to_encoding(body(input=[], encoding_format="hex"))
    with pytest.raises(BadRequest, match="^invalid input$"):
        to_encoding(body(input=[], encoding_format="float"))


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("a", ("a",)),
        (["a", "b"], ("a", "b")),
        ([1, 2], ((1, 2),)),
        ([[1, 2], [3]], ((1, 2), (3,))),
    ],
)
def test_texts_and_tokens_are_embedded(given: Any, texts: Any) -> None:
    assert to_embed(decode({"model": "m", "input": given}, wire.EmbeddingRequest)).texts == texts


@pytest.mark.parametrize("given", [5, {"a": 1}, ["a", 1], [1, "a"], [[1], "a"], [[]], [-1], [True], [[1.5]]])
def test_anything_else_is_not_embedded(given: Any) -> None:
    with pytest.raises(InvalidInputType):
        to_embed(decode({"model": "m", "input": given}, wire.EmbeddingRequest))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "x",
            "[]",
            "5",
            '"{}"',
            "{",
            "{} {}",
            "{}x",
            '{"a":NaN}',
            '{"a":-Infinity}',
            '{"a":1e999}',
        ),
        *("[" * 100_000, '{"a":' * 100_000, '{"a":' + "9" * 5000 + "}"),
    ],
    ids=lambda text: text[:9],
)
def test_arguments_that_nobody_can_read_are_refused(text: str) -> None:
    call = {"id": "x", "function": {"name": "f", "arguments": text}}
    with pytest.raises(BadRequest, match="invalid tool call arguments"):
        chat(messages=[USER, {"role": "assistant", "tool_calls": [call]}])
