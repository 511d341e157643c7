"""The Python package ``openai``, unchanged: over a scripted engine, and over the real one."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import (
    APIError,
    AsyncOpenAI,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    OpenAI,
    PermissionDeniedError,
    pydantic_function_tool,
)
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response
from pydantic import BaseModel

from integration.cases.place import (
    CALL,
    FULL_WINDOW,
    OUT_OF_BUDGET,
    PLAIN,
    Json,
    Place,
    completion,
    place,
)
from integration.conftest import CHAT_MODEL, EMBEDDING_MODEL
from integration.toy import post, until

pytestmark = pytest.mark.timeout(180)

FIND: Json = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find files",
        "parameters": {
            "type": "object",
            "required": ["pattern"],
            "properties": {"pattern": {"type": "string"}, "depth": {"type": "integer"}},
        },
    },
}
FLAT_FIND: Json = {"type": "function", "strict": False, **FIND["function"]}
WAV_HEAD = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
WAV = base64.b64encode(WAV_HEAD).decode()
SILENCE = {"sse": [{"$sleep": 0.3}, *completion(["One"])]}


class City(BaseModel):
    """What a model is asked for."""

    name: str
    people: int


def client_of(address: str) -> OpenAI:
    return OpenAI(base_url=f"http://{address}/v1", api_key="none", max_retries=0)


@pytest.fixture
def client(scripted_place: Place) -> Iterator[OpenAI]:
    with client_of(scripted_place.server.address) as client:
        yield client


@pytest.fixture
def real_client(real_daemon: str) -> Iterator[OpenAI]:
    with client_of(real_daemon) as client:
        yield client


def ask(client: OpenAI, model: str, text: str = "x", **members: Any) -> ChatCompletion:
    """A reply in one piece."""
    messages = members.pop("messages", [{"role": "user", "content": text}])
    reply: ChatCompletion = client.chat.completions.create(model=model, messages=messages, **members)
    return reply


def streamed(client: OpenAI, model: str, text: str = "x", **members: Any) -> list[ChatCompletionChunk]:
    """The chunks of a reply."""
    messages = members.pop("messages", [{"role": "user", "content": text}])
    return list(client.chat.completions.create(model=model, messages=messages, stream=True, **members))


def calls_of(reply: Any) -> list[Any]:
    """The calls in a choice."""
    return reply.message.tool_calls or []


def text_of(chunks: list[ChatCompletionChunk], choice: int = 0) -> str:
    choices = [found for chunk in chunks for found in chunk.choices if found.index == choice]
    return "".join(found.delta.content or "" for found in choices)


def finishes(chunks: list[ChatCompletionChunk]) -> list[str | None]:
    return [choice.finish_reason for chunk in chunks for choice in chunk.choices]


# ---- chat completions ----


def test_a_chat_is_answered(here: Place, client: OpenAI) -> None:
    here.says(["Hello", " there"])
    reply = ask(
        client,
        "plain",
        "Hi!",
        temperature=0.5,
        top_p=0.5,
        seed=7,
        max_completion_tokens=9,
        stop=["END"],
        frequency_penalty=0.5,
        presence_penalty=-0.5,
        logit_bias={"5": -100},
        user="u",
        metadata={"a": "b"},
    )
    choice = reply.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == (
        "assistant", "Hello there", "stop",
    )  # fmt: skip
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 2
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + 2
    [call] = here.calls("/completion")
    assert call["prompt"] == "<|user|>Hi!\n<|assistant|>"
    wanted = {
        "temperature": 0.5,
        "top_p": 0.5,
        "seed": 7,
        "n_predict": 9,
        "stop": ["END"],
        "frequency_penalty": 0.5,
        "presence_penalty": -0.5,
        "logit_bias": [[5, -100]],
    }
    assert {name: call[name] for name in wanted} == wanted


def test_a_stream_has_the_text_of_the_plain_reply(here: Place, client: OpenAI) -> None:
    here.says(["Hello", " ", "there"])
    chunks = streamed(client, "plain")
    assert text_of(chunks) == ask(client, "plain").choices[0].message.content == "Hello there"
    assert [chunk.choices[0].delta.role for chunk in chunks] == ["assistant", None, None, None]
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1


async def test_an_asynchronous_stream_is_read(here: Place) -> None:
    here.says(["Hello", " there"])
    async with AsyncOpenAI(base_url=f"http://{here.server.address}/v1", api_key="none") as client:
        stream = await client.chat.completions.create(
            model="plain", messages=[{"role": "user", "content": "x"}], stream=True
        )
        assert text_of([chunk async for chunk in stream]) == "Hello there"


@pytest.mark.parametrize("model", ["plain", "native"])
def test_b068_a_stream_finishes_once_and_says_nothing_before(here: Place, client: OpenAI, model: str) -> None:
    here.says(["a", "b", "c"])
    assert finishes(streamed(client, model)) == [None, None, None, "stop"]


@pytest.mark.parametrize("model", ["plain", "tools", "thinking", "native"])
def test_b069_usage_comes_last_and_is_real(here: Place, client: OpenAI, model: str) -> None:
    here.says(["a", "b", "c"])
    chunks = streamed(client, model, stream_options={"include_usage": True})
    *others, last = chunks
    assert not last.choices
    assert last.usage is not None
    assert last.usage.completion_tokens == 3
    assert last.usage.prompt_tokens > 0
    assert all(chunk.usage is None for chunk in others)
    assert all(chunk.usage is None for chunk in streamed(client, model))


def test_b069_usage_of_a_completion_comes_last_too(here: Place, client: OpenAI) -> None:
    here.says(["a", "b", "c"])
    *_, last = client.completions.create(
        model="plain", prompt="x", stream=True, stream_options={"include_usage": True}
    )
    assert not last.choices
    assert last.usage is not None
    assert last.usage.completion_tokens == 3


@pytest.mark.parametrize("end", [OUT_OF_BUDGET, FULL_WINDOW])
def test_a_reply_that_was_cut_off_says_so(here: Place, client: OpenAI, end: Json) -> None:
    here.says(["One", end])
    assert ask(client, "plain").choices[0].finish_reason == "length"
    assert finishes(streamed(client, "plain"))[-1] == "length"


def test_b005_a_window_is_asked_for_as_natively(here: Place, client: OpenAI) -> None:
    here.says(["One"])
    ask(client, "plain", extra_body={"options": {"num_ctx": 8192}})
    windows = {model["name"]: model["context_length"] for model in here.loaded()}
    assert windows["plain:latest"] == 8192


def test_several_answers_are_choices(here: Place, client: OpenAI) -> None:
    here.script(answers={"/completion": [{"sse": list(completion([word]))} for word in "ABAB"]})
    reply = ask(client, "plain", n=2, seed=5)
    assert [(choice.index, choice.message.content) for choice in reply.choices] == [(0, "A"), (1, "B")]
    assert [call["seed"] for call in here.calls("/completion")] == [5, 6]
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 2
    chunks = streamed(client, "plain", n=2, stream_options={"include_usage": True})
    assert (text_of(chunks, 0), text_of(chunks, 1)) == ("A", "B")
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 2
    with pytest.raises(BadRequestError, match="'n' must be between 1 and 8"):
        ask(client, "plain", n=9)


@pytest.mark.parametrize("stream", [False, True])
def test_several_answers_are_generated_at_once_where_there_are_slots(tmp_path: Path, stream: bool) -> None:
    with place(tmp_path, {"OLLAMA_NUM_PARALLEL": "2"}) as here:
        here.model("plain", template=PLAIN)
        here.script(answers={"/completion": [{"prefill": 60, "status": 200, "json": {}}] * 3})
        asked: Json = {"model": "plain", "messages": [{"role": "user", "content": "x"}], "n": 3}
        with here.asked("/v1/chat/completions", {**asked, "stream": stream}):
            until(lambda: len(here.calls("/completion")) == 2)
        until(lambda: len(here.events("client-gone")) == 2)
        assert len(here.calls("/completion")) == 2


def test_what_came_from_the_cache_is_told(here: Place, client: OpenAI) -> None:
    timings = {"cache_n": 6, "prompt_n": 2, "predicted_n": 1}
    here.says(["One", {"timings": timings}])
    usage = ask(client, "plain").usage
    assert usage is not None
    assert usage.prompt_tokens == 8
    assert usage.prompt_tokens_details is not None
    assert usage.prompt_tokens_details.cached_tokens == 6


def test_unknown_fields_are_told_of(here: Place, client: OpenAI) -> None:
    here.says(["One"])
    reply = ask(client, "plain", extra_body={"temprature": 1})
    assert reply.model_extra is not None
    assert reply.model_extra["warnings"] == ['unknown key "temprature" ignored, did you mean "temperature"?']


# ---- tools ----


def test_calls_are_whole_in_a_stream_as_in_a_plain_reply(here: Place, client: OpenAI) -> None:
    here.says(["Let me look. ", CALL])
    reply = ask(client, "tools", tools=[FIND]).choices[0]
    assert (reply.finish_reason, reply.message.content) == ("tool_calls", "Let me look. ")
    [call] = calls_of(reply)
    assert call.type == "function"
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "find",
        {"pattern": "*.txt", "depth": 2},
    )
    with client.chat.completions.stream(
        model="tools",
        messages=[{"role": "user", "content": "x"}],
        tools=[FIND],  # type: ignore[list-item]
    ) as stream:
        final = stream.get_final_completion().choices[0]
    assert final.finish_reason == "tool_calls"
    [put_together] = calls_of(final)
    assert put_together.function.arguments == call.function.arguments
    assert put_together.id.startswith("call_")


def test_b062_a_call_without_text_comes_back_with_its_result(here: Place, client: OpenAI) -> None:
    here.says([CALL])
    asked: list[Any] = [{"role": "user", "content": "Which files?"}]
    [call] = calls_of(ask(client, "tools", messages=asked, tools=[FIND]).choices[0])
    here.says(["a.txt"])
    asked += [
        {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]},
        {"role": "tool", "tool_call_id": call.id, "content": "a.txt"},
    ]
    assert ask(client, "tools", messages=asked, tools=[FIND]).choices[0].message.content == "a.txt"
    [engine_call] = here.calls("/completion")
    assert "<tool_call>" in engine_call["prompt"]
    assert "<|tool|>a.txt" in engine_call["prompt"]


def test_tools_are_hidden_when_none_may_be_called(here: Place, client: OpenAI) -> None:
    here.says(["No."])
    ask(client, "tools", tools=[FIND], tool_choice="none")
    [call] = here.calls("/completion")
    assert "Tools:" not in call["prompt"]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "find"}}])
def test_a_call_can_be_forced(here: Place, client: OpenAI, choice: Any) -> None:
    here.says([CALL])
    reply = ask(client, "tools", tools=[FIND], tool_choice=choice).choices[0]
    assert reply.finish_reason == "tool_calls"
    [call] = here.calls("/completion")
    assert "find" in call["grammar"]
    with pytest.raises(BadRequestError, match="not among the tools"):
        ask(client, "tools", tools=[FIND], tool_choice={"type": "function", "function": {"name": "lost"}})


def test_a_forced_call_that_did_not_come_is_told(here: Place, client: OpenAI) -> None:
    here.says(["No."])
    unmet = ["tool_choice was not met: no tool was called"]
    reply = ask(client, "tools", tools=[FIND], tool_choice="required")
    assert (reply.model_extra or {})["warnings"] == unmet
    *_, last = streamed(client, "tools", tools=[FIND], tool_choice="required")
    assert (last.model_extra or {})["warnings"] == unmet
    *_, completed = response_events(
        client, "tools", input="x", tools=[FLAT_FIND], tool_choice={"type": "function", "name": "find"}
    )
    assert completed.response.model_extra["warnings"] == unmet


def test_one_call_at_a_time_is_one_call(here: Place, client: OpenAI) -> None:
    here.says([CALL, CALL])
    assert len(calls_of(ask(client, "tools", tools=[FIND]).choices[0])) == 2
    alone = ask(client, "tools", tools=[FIND], parallel_tool_calls=False).choices[0]
    assert len(calls_of(alone)) == 1


def test_a_reply_is_parsed_into_a_model_of_the_client(here: Place, client: OpenAI) -> None:
    here.says(['{"name": "Paris", ', '"people": 2100000}'])
    parsed = client.chat.completions.parse(
        model="plain", messages=[{"role": "user", "content": "Paris?"}], response_format=City
    )
    assert parsed.choices[0].message.parsed == City(name="Paris", people=2100000)
    [call] = here.calls("/completion")
    assert set(call["json_schema"]["properties"]) == {"name", "people"}


def test_arguments_are_parsed_into_a_model_of_the_client(here: Place, client: OpenAI) -> None:
    here.says(['<tool_call>{"name": "City", "arguments": {"name": "Oslo", "people": 1}}</tool_call>'])
    parsed = client.chat.completions.parse(
        model="tools", messages=[{"role": "user", "content": "x"}], tools=[pydantic_function_tool(City)]
    )
    [call] = calls_of(parsed.choices[0])
    assert call.function.parsed_arguments == City(name="Oslo", people=1)


# ---- thoughts, images, audio ----


def test_thoughts_stand_apart_and_can_be_switched_off(here: Place, client: OpenAI) -> None:
    here.says(["<think>hm</think>", "Yes."])
    message = ask(client, "thinking").choices[0].message
    assert (message.content, (message.model_extra or {})["reasoning"]) == ("Yes.", "hm")
    with pytest.raises(BadRequestError, match="invalid reasoning value"):
        ask(client, "thinking", reasoning_effort="banana")
    with pytest.raises(BadRequestError, match="does not support thinking"):
        ask(client, "plain", reasoning_effort="high")
    ask(client, "plain", reasoning_effort="none")


def test_remote_images_are_refused_with_the_reason(client: OpenAI) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/owl.png"}}
    with pytest.raises(BadRequestError, match="please use base64 encoded data instead"):
        ask(client, "plain", messages=[{"role": "user", "content": [image]}])


def test_b151_a_model_that_cannot_hear_says_so(here: Place, client: OpenAI) -> None:
    audio = {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}
    with pytest.raises(BadRequestError, match="audio not supported by this model"):
        ask(client, "plain", messages=[{"role": "user", "content": [audio]}])
    with pytest.raises(BadRequestError, match="audio not supported by this model"):
        client.audio.transcriptions.create(model="plain", file=("a.wav", base64.b64decode(WAV)))
    assert here.calls("/completion") == []


# ---- what is wrong ----


def test_b072_errors_are_nested_objects_with_a_type(here: Place, client: OpenAI) -> None:
    message = "model 'absent' not found"
    with pytest.raises(NotFoundError, match=message) as caught:
        ask(client, "absent")
    assert caught.value.body == {
        "message": message, "type": "not_found_error", "param": None, "code": None,
    }  # fmt: skip
    with pytest.raises(NotFoundError):
        streamed(client, "absent")
    with pytest.raises(PermissionDeniedError):
        ask(client, "big:cloud")


def test_a_stream_that_cannot_begin_is_refused_as_a_plain_reply_is(here: Place, client: OpenAI) -> None:
    here.script(answers={"/completion": [{"status": 500, "json": {"error": {"message": "broken"}}}]})
    with pytest.raises(InternalServerError, match="broken"):
        streamed(client, "plain")


def test_a_stream_that_breaks_off_says_why(here: Place, client: OpenAI) -> None:
    frames = [
        *list(completion(["One"]))[:1],
        {"error": {"code": 500, "message": "mid", "type": "server_error"}},
    ]
    here.script(answers={"/completion": [{"sse": frames}] * 2})
    with pytest.raises(APIError, match="mid"):
        streamed(client, "plain")
    *_, last = response_events(client, "plain", input="x")
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert "mid" in last.response.error.message


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"functions": [{"name": "f"}]}, "use 'tools'"),
        ({"modalities": ["text", "audio"]}, "only text"),
        ({"logit_bias": {"owl": 1}}, "token ids"),
        ({"tool_choice": "banana"}, "tool_choice must be"),
    ],
)
def test_what_cannot_be_honoured_is_refused(client: OpenAI, members: Json, words: str) -> None:
    with pytest.raises(BadRequestError, match=words):
        ask(client, "plain", **members)


def test_silence_is_broken_by_signs_of_life(tmp_path: Any) -> None:
    with place(tmp_path, {"ORCH_SSE_PING": "20ms"}) as here, client_of(here.server.address) as client:
        here.model("plain", template=PLAIN)
        here.script(answers={"/completion": [SILENCE] * 2})
        with client.chat.completions.with_streaming_response.create(
            model="plain", messages=[{"role": "user", "content": "x"}], stream=True
        ) as response:
            lines = [line for line in response.iter_lines() if line]
        assert lines[0].startswith(": ")
        assert lines[-1] == "data: [DONE]"
        assert text_of(streamed(client, "plain")) == "One"


# ---- completions ----


def test_a_prompt_is_completed(here: Place, client: OpenAI) -> None:
    here.says(["One", " two"])
    reply = client.completions.create(model="plain", prompt="Count", max_tokens=5, echo=True)
    assert (reply.choices[0].text, reply.choices[0].finish_reason) == ("CountOne two", "stop")
    parts = list(client.completions.create(model="plain", prompt="Count", stream=True, echo=True))
    assert "".join(part.choices[0].text for part in parts) == "CountOne two"
    assert [part.choices[0].finish_reason for part in parts][-1] == "stop"


# ---- responses ----


def response_events(client: OpenAI, model: str, **members: Any) -> list[Any]:
    """The events of a streamed response."""
    return list(client.responses.create(model=model, stream=True, **members))


def respond(client: OpenAI, model: str, **members: Any) -> Response:
    reply: Response = client.responses.create(model=model, **members)
    return reply


def test_a_response_is_answered(here: Place, client: OpenAI) -> None:
    here.says(["Hello", " there"])
    reply = respond(
        client, "plain", input="Hi!", instructions="Be kind.", max_output_tokens=9, metadata={"a": "b"}
    )
    assert (reply.output_text, reply.status, reply.metadata) == ("Hello there", "completed", {"a": "b"})
    assert reply.usage is not None
    assert reply.usage.output_tokens == 2
    [call] = here.calls("/completion")
    assert call["prompt"] == "<|system|>Be kind.\n<|user|>Hi!\n<|assistant|>"
    assert call["n_predict"] == 9


def test_b071_a_response_follows_another(here: Place, client: OpenAI) -> None:
    here.says(["Noted."])
    first = respond(client, "plain", input="My word is FERN.", instructions="Be brief.")
    second = respond(client, "plain", input="Which word?", previous_response_id=first.id)
    assert second.previous_response_id == first.id
    third = respond(client, "plain", input="Sure?", previous_response_id=second.id, instructions="Be loud.")
    assert third.output_text == "Noted."
    prompts = [call["prompt"] for call in here.calls("/completion")]
    assert prompts[1:] == [
        "<|user|>My word is FERN.\n<|assistant|>Noted.\n<|user|>Which word?\n<|assistant|>",
        "<|system|>Be loud.\n<|user|>My word is FERN.\n<|assistant|>Noted.\n"
        "<|user|>Which word?\n<|assistant|>Noted.\n<|user|>Sure?\n<|assistant|>",
    ]


def test_b071_a_response_that_is_not_kept_cannot_be_followed(here: Place, client: OpenAI) -> None:
    here.says(["Noted."])
    alone = respond(client, "plain", input="My word is FERN.", store=False)
    for lost in (alone.id, "resp_of_somebody_else"):
        with pytest.raises(BadRequestError, match=f"previous response '{lost}' not found"):
            respond(client, "plain", input="Which word?", previous_response_id=lost)


def test_a_tool_is_called_and_its_output_answered(here: Place, client: OpenAI) -> None:
    here.says([CALL])
    first = respond(client, "tools", input="Which files?", tools=[FLAT_FIND])
    [call] = first.output
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"pattern": "*.txt", "depth": 2}
    here.says(["a.txt"])
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "a.txt"}
    by_id = respond(client, "tools", input=[output], tools=[FLAT_FIND], previous_response_id=first.id)
    history: list[Any] = [{"role": "user", "content": "Which files?"}, call.model_dump(), output]
    by_items = respond(client, "tools", input=history, tools=[FLAT_FIND])
    assert by_id.output_text == by_items.output_text == "a.txt"
    one, other = here.calls("/completion")
    assert one["prompt"] == other["prompt"]


def test_the_events_of_a_response_come_in_order(here: Place, client: OpenAI) -> None:
    here.says(["<think>hm</think>", "Hello", " there"])
    with client.responses.stream(model="thinking", input="Hi!") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert final.output_text == "Hello there"
    assert [item.type for item in final.output] == ["reasoning", "message"]


def test_calls_are_events_of_a_response(here: Place, client: OpenAI) -> None:
    here.says(["Let me look. ", CALL])
    events = response_events(client, "tools", input="x", tools=[FLAT_FIND])
    assert [event.sequence_number for event in events] == list(range(len(events)))
    done = [event for event in events if event.type == "response.output_item.done"]
    assert [(event.output_index, event.item.type) for event in done] == [(0, "message"), (1, "function_call")]
    assert events[-1].type == "response.completed"
    assert [item.type for item in events[-1].response.output] == ["message", "function_call"]


def test_a_response_is_parsed_into_a_model_of_the_client(here: Place, client: OpenAI) -> None:
    here.says(['{"name": "Paris", "people": 2100000}'])
    parsed = client.responses.parse(model="plain", input="Paris?", text_format=City)
    assert parsed.output_parsed == City(name="Paris", people=2100000)


def test_a_server_without_a_search_service_says_so(here: Place, client: OpenAI) -> None:
    here.says(['<tool_call>{"name": "web_search", "arguments": {"query": "owls"}}</tool_call>'])
    tools: Any = [{"type": "web_search"}]
    with pytest.raises(InternalServerError, match="no search service"):
        respond(client, "tools", input="Owls?", tools=tools)
    *_, last = response_events(client, "tools", input="Owls?", tools=tools)
    assert last.type == "response.failed"


@pytest.mark.parametrize("members", [{"background": True}, {"conversation": "conv_1"}])
def test_what_a_response_cannot_be_is_refused(client: OpenAI, members: Json) -> None:
    with pytest.raises(BadRequestError, match="is not supported"):
        respond(client, "plain", input="x", **members)


# ---- the real engine ----


def test_the_real_engine_answers(real_client: OpenAI) -> None:
    members: Json = {"temperature": 0, "seed": 1, "max_completion_tokens": 8}
    plain = ask(real_client, CHAT_MODEL, "Name a colour.", **members)
    assert (
        text_of(streamed(real_client, CHAT_MODEL, "Name a colour.", **members))
        == plain.choices[0].message.content
    )
    assert plain.usage is not None
    assert plain.usage.prompt_tokens > 10
    response = respond(
        real_client, CHAT_MODEL, input="Name a colour.", temperature=0, max_output_tokens=8, top_p=1
    )
    assert response.output_text == plain.choices[0].message.content


def test_log_probabilities_come_with_their_tokens(real_client: OpenAI) -> None:
    reply = ask(real_client, CHAT_MODEL, logprobs=True, top_logprobs=2, max_tokens=4, temperature=0)
    assert reply.choices[0].logprobs is not None
    entries = reply.choices[0].logprobs.content or []
    assert "".join(entry.token for entry in entries) == reply.choices[0].message.content
    assert all(entry.logprob <= 0 and len(entry.top_logprobs) == 2 for entry in entries)
    older = real_client.completions.create(
        model=CHAT_MODEL, prompt="x", logprobs=2, max_tokens=4, temperature=0
    )
    assert older.choices[0].logprobs is not None
    assert "".join(older.choices[0].logprobs.tokens or ()) == older.choices[0].text


def test_the_form_of_an_answer_is_kept(real_client: OpenAI) -> None:
    parsed = real_client.chat.completions.parse(
        model=CHAT_MODEL,
        messages=[{"role": "user", "content": "Paris, as JSON."}],
        response_format=City,
        max_tokens=100,
        temperature=0,
    )
    assert isinstance(parsed.choices[0].message.parsed, City)


def test_b015_every_text_has_its_vector(real_client: OpenAI) -> None:
    reply = real_client.embeddings.create(
        model=EMBEDDING_MODEL, input=["tin", "copper"], encoding_format="float"
    )
    assert [entry.index for entry in reply.data] == [0, 1]
    assert all(math.isclose(math.hypot(*entry.embedding), 1, abs_tol=1e-3) for entry in reply.data)
    assert reply.usage.prompt_tokens > 0


def test_b016_vectors_are_the_same_in_both_forms(real_client: OpenAI, real_daemon: str) -> None:
    def vectors(form: str) -> Any:
        body = {"model": EMBEDDING_MODEL, "input": "tin", "encoding_format": form}
        return real_client.with_options().post("/embeddings", cast_to=object, body=body)

    as_text = vectors("base64")["data"][0]["embedding"]
    packed = base64.b64decode(as_text)
    assert list(struct.unpack(f"<{len(packed) // 4}f", packed)) == pytest.approx(
        vectors("float")["data"][0]["embedding"], abs=1e-6
    )
    by_default = real_client.embeddings.create(model=EMBEDDING_MODEL, input="tin").data[0].embedding
    assert len(by_default) == len(packed) // 4
    with pytest.raises(BadRequestError, match="Supported values"):
        vectors("hex")


@pytest.mark.parametrize("texts", ["", " ", ["", "tin"]])
def test_b017_blank_texts_have_vectors(real_client: OpenAI, texts: Any) -> None:
    reply = real_client.embeddings.create(model=EMBEDDING_MODEL, input=texts, encoding_format="float")
    assert all(len(entry.embedding) == 384 for entry in reply.data)
    with pytest.raises(BadRequestError, match="invalid input"):
        real_client.embeddings.create(model=EMBEDDING_MODEL, input=[])


def test_token_ids_of_the_model_are_embedded_as_their_text(real_client: OpenAI) -> None:
    whole = real_client.embeddings.create(model=EMBEDDING_MODEL, input="tin").data[0].embedding
    tin = 9543  # in the vocabulary of the model
    by_ids = real_client.embeddings.create(model=EMBEDDING_MODEL, input=[[tin]]).data[0].embedding
    assert by_ids == pytest.approx(whole, abs=1e-4)


def test_vectors_are_shortened(real_client: OpenAI) -> None:
    short = real_client.embeddings.create(model=EMBEDDING_MODEL, input="tin", dimensions=8).data[0].embedding
    assert len(short) == 8
    assert math.isclose(math.hypot(*short), 1, abs_tol=1e-3)


def test_models_are_listed_and_found(real_client: OpenAI) -> None:
    names = {model.id for model in real_client.models.list()}
    assert names >= {f"{CHAT_MODEL}:latest", f"{EMBEDDING_MODEL}:latest"}
    found = real_client.models.retrieve(CHAT_MODEL)
    assert (found.id, found.object, found.owned_by) == (CHAT_MODEL, "model", "library")
    with pytest.raises(NotFoundError, match="model 'absent:latest' not found"):
        real_client.models.retrieve("absent")


def test_a_body_may_be_compressed(here: Place) -> None:
    from backports import zstd

    here.says(["One"])
    body = zstd.compress(
        json.dumps({"model": "plain", "messages": [{"role": "user", "content": "x"}]}).encode()
    )
    request = {
        "method": "POST",
        "path": "/v1/chat/completions",
        "headers": {"Content-Encoding": "zstd"},
        "body_base64": base64.b64encode(body).decode(),
    }
    assert here.server.send(request).status == 200
    assert post(here.server, "/v1/chat/completions", {}).status == 400
