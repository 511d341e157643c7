from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.formats import JsonFormat, OutputFormat, SchemaFormat
from orchestrator.domain.loads import LoadSpec, ModelFacts
from orchestrator.domain.options import Options, float32
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import parse_tools
from orchestrator.runners.base import ChatCall, CompletionCall
from orchestrator.runners.llama import bodies
from tests.golden_records import FOLDER, Record, records

Json = Any

MARKER = "<marker>"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WAV = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")


# ---- recorded requests: everything but the prompt follows from the client's options ----

GENERATING = {"/completion", "/v1/chat/completions"}


def recorded_calls() -> Iterator[Any]:
    """Calls of the native API, each with the generation it led to."""
    for record in records("engine/requests.jsonl"):
        for number, step in enumerate(record["steps"]):
            generations = [
                request for request in step.get("engine_requests", ()) if request["path"] in GENERATING
            ]
            if (
                step.get("request", {}).get("path") in ("/api/generate", "/api/chat")
                and len(generations) == 1
            ):
                place = step["engine_requests"].index(generations[0])
                name = f"steps.{number}.engine_requests.{place}"
                yield pytest.param(record, step, generations[0], name, id=f"{record['id']}.{number}")


def righted(record: Record, request: Json, name: str) -> dict[str, Json]:
    """The body that is right, and the names of members that are free."""
    body = dict(request["body"])
    for path, wanted in record.get("right", {}).items():
        if path.startswith(f"{name}.body.") and path.count(".") == 5:
            body[path.rsplit(".", 1)[1]] = wanted
    return body


def options_of(record: Record, step: Mapping[str, Json], request: Mapping[str, Json]) -> Options:
    """The options in force, with the window that the engine was started with."""
    world = json.loads((FOLDER / "engine/world.json").read_text())
    parameters = world["models"][record["world"][0]].get("parameters", {})
    options = Options(num_ctx=4096).updated(parameters).updated(request.get("options") or {})
    for launch in step.get("launches", ()):
        argv = launch["argv"]
        total, slots = (int(argv[argv.index(flag) + 1]) for flag in ("-c", "-np"))
        options = options.updated({"num_ctx": total // slots})
    return options


def format_of(request: Mapping[str, Json]) -> OutputFormat | None:
    match request.get("format"):
        case "json":
            return JsonFormat()
        case dict() as schema:
            return SchemaFormat(schema)
        case _:
            return None


@pytest.mark.parametrize(("record", "step", "request_", "name"), list(recorded_calls()))
def test_recorded_bodies_are_built_from_the_same_options(
    record: Record, step: Mapping[str, Json], request_: Json, name: str, spec: LoadSpec
) -> None:
    wire = json.loads(step["request"].get("json_text", "null")) or step["request"]["json"]
    body = righted(record, request_, name)
    options = options_of(record, step, wire)
    top_logprobs = wire.get("top_logprobs", 0) if wire.get("logprobs") else None
    loaded = LoadSpec(files=spec.files, options=options)
    # while a model thinks, its output is not constrained yet
    constrained = body.keys() & {"grammar", "json_schema", "response_format"}
    format = format_of(wire) if constrained else None
    if request_["path"] == "/completion":
        built = bodies.completion_body(
            CompletionCall(
                prompt="",
                # a family's own stop words are the caller's business
                options=options.updated({"stop": body.get("stop", [])}),
                format=format,
                top_logprobs=top_logprobs,
                preserved_tokens=tuple(body.get("preserved_tokens", ())),
            ),
            loaded,
            MARKER,
        )
        if body.get("grammar") == "$JSON_GRAMMAR":
            body["json_schema"] = bodies.ANY_OBJECT
            del body["grammar"]
    else:
        think = body.get("chat_template_kwargs")
        built = bodies.chat_body(
            ChatCall(
                messages=(),
                options=options,
                tools=parse_tools(wire.get("tools")),
                think=think and Think(think["enable_thinking"], think.get("reasoning_effort")),
                format=format,
                top_logprobs=top_logprobs,
            ),
            loaded,
        )
    for variable in ("prompt", "messages"):
        body.pop(variable, None)
        built.pop(variable, None)
    if "stop" in body:
        body["stop"] = body["stop"] or None
    if f"{name}.body.n_keep" in record.get("free", ()):
        built.pop("n_keep", None)
    assert built == body
    for member, text in request_.get("ordered", {}).items():
        if member in ("tools", "json_schema"):
            assert json.dumps(built[member], separators=(",", ":"), ensure_ascii=False) == text


# ---- what the records leave to the prompt ----


def completion(spec: LoadSpec, prompt: str | tuple[int, ...] = "hi", **members: Any) -> bodies.Body:
    call = CompletionCall(prompt=prompt, options=Options(num_ctx=4096), **members)
    return bodies.completion_body(call, spec, MARKER)


def test_tokens_are_a_prompt_too(spec: LoadSpec) -> None:
    assert completion(spec, (1, 2, 3))["prompt"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("facts", "leading", "prompt", "sent"),
    [
        (ModelFacts(), "<s>", "<s>hi", "<s>hi"),
        (ModelFacts(add_bos=True), "<s>", "<s>hi", "hi"),
        (ModelFacts(add_bos=True), "<s>", "<s><s>hi", "<s>hi"),
        (ModelFacts(add_bos=True), "", "<bos>hi", "hi"),
        (ModelFacts(add_bos=True), "<s>", "<bos>hi", "hi"),
        (ModelFacts(add_bos=True), "<s>", "hi", "hi"),
        (ModelFacts(tokenizer_pre="lfm2"), "<|startoftext|>", "<|startoftext|>hi", "hi"),
        (ModelFacts(tokenizer_pre="gemma4"), "<bos>", "<bos>hi", "hi"),
        (ModelFacts(tokenizer_model="gemma4"), "<bos>", "<bos>hi", "hi"),
    ],
)
def test_a_bos_that_the_tokenizer_adds_is_cut_off(
    facts: ModelFacts, leading: str, prompt: str, sent: str, spec: LoadSpec
) -> None:
    loaded = replace(spec, files=replace(spec.files, facts=facts))
    assert completion(loaded, prompt, leading_bos=leading)["prompt"] == sent


@pytest.mark.parametrize(
    ("prompt", "text", "order"),
    [
        ("a [img-0] b", "a <marker> b", [0]),
        ("[img-1]a [img-0]", "<marker>a <marker>", [1, 0]),
        ("[img-0]text [img-0] [img-1]", "<marker>text [img-0] <marker>", [0, 1]),
        ("[img-1] [img-7]", "<marker><marker> [img-7]", [0, 1]),
        ("none", "<marker><marker>none", [0, 1]),
    ],
)
def test_data_come_in_the_order_of_their_markers(
    prompt: str, text: str, order: list[int], spec: LoadSpec
) -> None:
    media = (PNG, GIF)[: len(order)]
    sent = completion(spec, prompt, media=media)["prompt"]
    assert sent == {
        "prompt_string": text,
        "multimodal_data": [base64.b64encode(media[index]).decode() for index in order],
    }


def test_tags_in_a_prompt_without_media_are_text(spec: LoadSpec) -> None:
    assert completion(spec, "text [img-0] here")["prompt"] == "text [img-0] here"


def test_a_grammar_excludes_a_schema(spec: LoadSpec) -> None:
    body = completion(spec, grammar="root ::= [0-9]", format=JsonFormat())
    assert body["grammar"] == "root ::= [0-9]"
    assert "json_schema" not in body


def test_a_kept_beginning_is_given_up_only_when_told(spec: LoadSpec) -> None:
    less = CompletionCall(prompt="", options=Options(num_keep=-7))
    assert bodies.completion_body(less, spec, MARKER)["n_keep"] == -1
    call = CompletionCall(prompt="", options=Options(num_keep=0))
    assert bodies.completion_body(call, spec, MARKER)["n_keep"] == 0
    keeps_nothing = LoadSpec(files=spec.files, options=Options(num_ctx=4096, num_keep=0))
    assert "n_keep" not in bodies.completion_body(call, keeps_nothing, MARKER)


def test_further_members_are_passed_on(spec: LoadSpec) -> None:
    assert completion(spec, extra={"logit_bias": [[1, -1.0]]})["logit_bias"] == [[1, -1.0]]


def test_the_body_for_a_template_is_that_of_the_chat_unbounded(spec: LoadSpec) -> None:
    call = ChatCall(messages=(Message("user", "hi"),), options=Options(), think=Think(True, "high"))
    assert bodies.template_body(call) == bodies.chat_body(call, spec) | {"stream": False, "n_predict": -1}
    assert bodies.chat_body(call, spec)["chat_template_kwargs"] == {
        "enable_thinking": True,
        "reasoning_effort": "high",
    }


def test_messages_keep_calls_ids_and_names(spec: LoadSpec) -> None:
    call = ChatCall(
        messages=(
            Message(
                "assistant",
                thinking="hm",
                tool_calls=(
                    ToolCall("get", {"z": 12345678901234567890, "a": "ü"}, 0, "c1"),
                    ToolCall("add", {}, 1),
                ),
            ),
            Message("tool", "rain", tool_name="get", tool_call_id="c1"),
        ),
        options=Options(),
    )
    assert bodies.chat_body(call, spec)["messages"] == [
        {
            "content": "",
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "c1",
                    "index": 0,
                    "type": "function",
                    "function": {"name": "get", "arguments": '{"z":12345678901234567890,"a":"ü"}'},
                },
                {"index": 1, "type": "function", "function": {"name": "add", "arguments": "{}"}},
            ],
        },
        {"content": "rain", "name": "get", "role": "tool", "tool_call_id": "c1"},
    ]


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (PNG, {"type": "image_url", "image_url": {"url": "data:image/png;base64,@"}}),
        (GIF, {"type": "image_url", "image_url": {"url": "data:image/gif;base64,@"}}),
        (b"hello", {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,@"}}),
        (WAV, {"type": "input_audio", "input_audio": {"data": "@", "format": "wav"}}),
        (b"ID3abc", {"type": "input_audio", "input_audio": {"data": "@", "format": "mp3"}}),
        (b"\xff\xfbabc", {"type": "input_audio", "input_audio": {"data": "@", "format": "mp3"}}),
        (b"fLaC\0\0\0\x22", {"type": "input_audio", "input_audio": {"data": "@", "format": "flac"}}),
        (b"BM\x1e\0\0\0", {"type": "image_url", "image_url": {"url": "data:image/bmp;base64,@"}}),
        (b"\xff\xd8\xff\xe0", {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,@"}}),
        (b"8BPS\0\1", {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,@"}}),
        (b"", {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,@"}}),
        (b"\0\0\0\x18ftypmp42", {"type": "input_video", "input_video": {"data": "@"}}),
        (b"\x1aE\xdf\xa3\x01", {"type": "input_video", "input_video": {"data": "@"}}),
    ],
)
def test_media_follow_the_text_of_their_message(data: bytes, part: Json, spec: LoadSpec) -> None:
    encoded = base64.b64encode(data).decode()
    expected = json.loads(json.dumps(part).replace("@", encoded))
    call = ChatCall(messages=(Message("user", "see", images=(data,)),), options=Options())
    assert bodies.chat_body(call, spec)["messages"][0]["content"] == [
        {"text": "see", "type": "text"},
        expected,
    ]
    call = ChatCall(messages=(Message("user", images=(data,)),), options=Options())
    assert bodies.chat_body(call, spec)["messages"][0]["content"] == [expected]


@pytest.mark.parametrize(
    ("facts", "normalized"),
    [
        (ModelFacts(architecture="bert", tokenizer_model="bert"), True),
        (ModelFacts(architecture="bert", tokenizer_model="t5"), False),
        (ModelFacts(architecture="bert", tokenizer_model="bert", normalize_embeddings=False), False),
        (ModelFacts(architecture="nomic-bert"), False),
        (ModelFacts(architecture="nomic-bert-moe", normalize_embeddings=True), True),
        (ModelFacts(architecture="qwen3"), True),
    ],
)
def test_vectors_are_normalised_as_the_model_asks(facts: ModelFacts, normalized: bool) -> None:
    expected = {"input": "x"} if normalized else {"input": "x", "embd_normalize": -1}
    assert bodies.embedding_body("x", facts) == expected


def test_special_tokens_are_added_only_when_asked() -> None:
    assert bodies.tokenize_body("x", add_special=False) == {"content": "x"}
    assert bodies.tokenize_body("x", add_special=True) == {"content": "x", "add_special": True}


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=0))
def test_numbers_are_sent_in_their_shortest_form(number: float) -> None:
    call = ChatCall(messages=(), options=Options(temperature=number))
    sent = bodies.template_body(call)["temperature"]
    assert float32(sent) == number
    assert len(repr(sent)) <= len(repr(number))


def test_json_may_hold_integers_of_any_size() -> None:
    assert bodies.encode({"a": 2**70, "b": "ü"}) == b'{"a":1180591620717411303424,"b":"\xc3\xbc"}'
    assert bodies.encode({"a": 1}) == b'{"a":1}'


@pytest.mark.parametrize(
    ("last_n", "num_ctx", "sent"),
    [
        (64, 4, 64),
        (65_536, 4096, 65_536),
        (2**31 - 1, 4096, 65_536),
        (2**31 - 1, 131_072, 1_441_792),
        (-1, 9, 9),
    ],
)
def test_no_room_is_reserved_for_more_tokens_than_there_can_be(
    spec: LoadSpec, last_n: int, num_ctx: int, sent: int
) -> None:
    loaded = replace(spec, options=Options(num_ctx=num_ctx))
    call = CompletionCall(prompt="hi", options=Options(repeat_last_n=last_n))
    assert bodies.completion_body(call, loaded, MARKER)["repeat_last_n"] == sent
