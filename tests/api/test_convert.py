"""Native requests as domain requests, and back."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.native.convert import (
    InvalidInput,
    from_progress,
    to_chat,
    to_create,
    to_embed,
    to_embedding,
    to_generate,
    tool_call_members,
    usage_members,
    wants_stream,
)
from orchestrator.domain.chunks import ToolCall, Usage
from orchestrator.domain.formats import InvalidFormat, JsonFormat, SchemaFormat, usable_format
from orchestrator.domain.progress import Progress
from orchestrator.domain.requests import ChatRequest, EmbedRequest, GenerateRequest, Message
from orchestrator.domain.think import Think
from orchestrator.wire import native as wire
from orchestrator.wire.model import decode, encode


def generate(**members: Any) -> GenerateRequest:
    return to_generate(decode({"model": "m", **members}, wire.GenerateRequest))


def chat(**members: Any) -> ChatRequest:
    return to_chat(decode({"model": "m", **members}, wire.ChatRequest))


def embed(value: Any) -> EmbedRequest:
    return to_embed(decode({"model": "m", "input": value}, wire.EmbedRequest))


def test_what_is_absent_has_its_default() -> None:
    assert generate() == GenerateRequest(model="m", options={})
    assert chat() == ChatRequest(model="m", options={})


def test_a_generate_request_keeps_all_it_says() -> None:
    request = generate(
        prompt="p",
        suffix="s",
        system="y",
        template="t",
        context=[1, 2],
        raw=True,
        images=["aGk="],
        options={"top_k": 1},
        think="low",
        format={"type": "object"},
        truncate=False,
        shift=False,
        logprobs=True,
        top_logprobs=3,
        _debug_render_only=True,
    )
    assert request == GenerateRequest(
        model="m",
        prompt="p",
        suffix="s",
        system="y",
        template="t",
        context=(1, 2),
        raw=True,
        images=(b"hi",),
        options={"top_k": 1},
        think=Think(True, "low"),
        format=SchemaFormat({"type": "object"}),
        truncate=False,
        shift=False,
        logprobs=True,
        top_logprobs=3,
        debug_render_only=True,
    )


def test_messages_keep_calls_and_images_in_order() -> None:
    function = {"name": "f", "index": 2, "arguments": {"z": 1, "a": 2}}
    request = chat(
        messages=[
            {"role": "User", "content": "look", "images": ["aGk=", "aG8="]},
            {
                "role": "assistant",
                "thinking": "hm",
                "tool_calls": [{"id": "c1", "function": function}],
            },
            {"role": "tool", "content": "4", "tool_name": "f", "tool_call_id": "c1"},
        ]
    )
    assert request.messages == (
        Message("user", "look", images=(b"hi", b"ho")),
        Message("assistant", thinking="hm", tool_calls=(ToolCall("f", {"z": 1, "a": 2}, 2, "c1"),)),
        Message("tool", "4", tool_name="f", tool_call_id="c1"),
    )
    assert list(request.messages[1].tool_calls[0].arguments) == ["z", "a"]


@pytest.mark.parametrize(("value", "format_"), [(None, None), ("", None), ("json", JsonFormat())])
def test_formats(value: Any, format_: JsonFormat | None) -> None:
    assert chat(format=value).format == format_


@pytest.mark.parametrize(
    ("value", "shown"), [("xml", '"\\"xml\\""'), (5, '"5"'), ([1], '"[1]"'), (True, '"true"')]
)
def test_other_formats_are_refused_once_they_are_used(value: Any, shown: str) -> None:
    with pytest.raises(InvalidFormat) as refused:
        usable_format(chat(format=value).format)
    assert str(refused.value) == f'invalid format: {shown}; expected "json" or a valid JSON Schema object'


@pytest.mark.parametrize(
    ("value", "texts"),
    [(None, ()), ("", ()), ([], ()), ("a", ("a",)), ([""], ("",)), (["a", "b"], ("a", "b"))],
)
def test_texts_to_embed(value: Any, texts: tuple[str, ...]) -> None:
    assert embed(value).texts == texts


@pytest.mark.parametrize("value", [5, True, {"a": 1}, ["a", 1], [None]])
def test_other_inputs_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="^invalid input type$"):
        embed(value)


def test_the_older_form_embeds_one_text_and_never_cuts_it() -> None:
    body = decode({"model": "m", "prompt": "a"}, wire.EmbeddingRequest)
    assert to_embedding(body) == EmbedRequest(model="m", texts=("a",), options={}, truncate=False)
    assert to_embedding(decode({"model": "m"}, wire.EmbeddingRequest)).texts == ()


@pytest.mark.parametrize(
    ("members", "stream"), [({}, True), ({"stream": None}, True), ({"stream": False}, False)]
)
@pytest.mark.parametrize("model", [wire.GenerateRequest, wire.ChatRequest, wire.CreateRequest])
def test_only_an_explicit_false_stops_the_stream(
    model: type[wire.GenerateRequest | wire.ChatRequest | wire.CreateRequest], members: Any, stream: bool
) -> None:
    assert wants_stream(decode(members, model).stream) is stream


def test_a_create_request_takes_older_names() -> None:
    body = decode({"name": "n", "quantization": "q8_0", "from": "b", "files": {}}, wire.CreateRequest)
    request = to_create(body)
    assert (request.model, request.quantize, request.base, request.files) == ("n", "q8_0", "b", {})
    assert to_create(decode({}, wire.CreateRequest)).files is None


def test_calls_have_an_id_if_there_is_one() -> None:
    assert tool_call_members([ToolCall("f", {}, 0, "c1"), ToolCall("g", {"a": 1}, 1)]) == [
        {"id": "c1", "function": {"index": 0, "name": "f", "arguments": {}}},
        {"function": {"index": 1, "name": "g", "arguments": {"a": 1}}},
    ]


def test_metrics_that_are_zero_are_left_out() -> None:
    usage = Usage(prompt_tokens=3, completion_tokens=2, completion_duration_ns=9)
    assert usage_members(usage, total_duration_ns=10, load_duration_ns=0) == {
        "total_duration": 10,
        "prompt_eval_count": 3,
        "eval_count": 2,
        "eval_duration": 9,
    }


def test_progress_shows_what_is_known() -> None:
    assert encode(from_progress(Progress("success"))) == b'{"status":"success"}'
    line = encode(from_progress(Progress("pulling", "sha256:1", 9, 3)))
    assert line == b'{"status":"pulling","digest":"sha256:1","total":9,"completed":3}'
