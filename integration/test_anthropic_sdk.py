"""The Python package ``anthropic``, unchanged: over a scripted engine, and over the real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic import (
    Anthropic,
    APIStatusError,
    AsyncAnthropic,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    beta_tool,
)
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolParam, ToolUseBlock
from pydantic import BaseModel

from integration.cases.place import (
    CALL,
    FULL_WINDOW,
    PLAIN,
    TOOLS,
    Json,
    Place,
    completion,
    deltas,
    place,
)
from integration.conftest import CHAT_MODEL
from integration.toy import post
from tests.http_replay.transport import Server

pytestmark = pytest.mark.timeout(180)

FIND: ToolParam = {
    "name": "find",
    "description": "Find files",
    "input_schema": {
        "type": "object",
        "required": ["pattern"],
        "properties": {"pattern": {"type": "string"}, "depth": {"type": "integer"}},
    },
}
GREEDY = {"temperature": 0}
"""The package has no parameter for it any more."""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def client_of(address: str) -> Anthropic:
    return Anthropic(base_url=f"http://{address}", api_key="none", max_retries=0)


@pytest.fixture
def client(scripted_place: Place) -> Iterator[Anthropic]:
    with client_of(scripted_place.server.address) as client:
        yield client


@pytest.fixture
def real_client(real_daemon: str) -> Iterator[Anthropic]:
    with client_of(real_daemon) as client:
        yield client


def ask(client: Anthropic, model: str, text: str = "x", **members: Any) -> Message:
    """A reply in one piece."""
    messages = members.pop("messages", [{"role": "user", "content": text}])
    reply: Message = client.messages.create(model=model, max_tokens=20, messages=messages, **members)
    return reply


def streamed(client: Anthropic, model: str, text: str = "x", **members: Any) -> tuple[Message, list[Any]]:
    """A reply put together by the SDK, and the events it is made of."""
    messages = members.pop("messages", [{"role": "user", "content": text}])
    with client.messages.stream(model=model, max_tokens=20, messages=messages, **members) as stream:
        events = [event for event in stream if event.type in RAW]
        return stream.get_final_message(), events


RAW = frozenset(
    {
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    }
)


def content(message: Message) -> list[Json]:
    """What a message says, without ids and signatures."""
    return [
        block.model_dump(include={"type", "text", "thinking", "name", "input"}) for block in message.content
    ]


# ---- text ----


def test_a_message_is_answered(here: Place, client: Anthropic) -> None:
    here.says(["Hello", " there"])
    reply = ask(
        client,
        "plain",
        "Hi!",
        system="Be kind.",
        metadata={"user_id": "u"},
        extra_body={"temperature": 0.5, "top_k": 3},
    )
    assert content(reply) == [{"type": "text", "text": "Hello there"}]
    assert (reply.role, reply.model, reply.stop_reason, reply.stop_sequence) == (
        "assistant", "plain", "end_turn", None,
    )  # fmt: skip
    assert reply.usage.output_tokens == 2
    [call] = here.calls("/completion")
    assert call["prompt"] == "<|system|>Be kind.\n<|user|>Hi!\n<|assistant|>"
    assert (call["temperature"], call["top_k"], call["n_predict"]) == (0.5, 3, 20)


def test_a_stream_has_the_text_of_the_plain_reply(here: Place, client: Anthropic) -> None:
    here.says(["One", " two", " three"])
    plain = ask(client, "plain")
    with client.messages.stream(
        model="plain", max_tokens=100, messages=[{"role": "user", "content": "x"}]
    ) as stream:
        assert "".join(stream.text_stream) == "One two three"
        final = stream.get_final_message()
    assert content(final) == content(plain)
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", plain.usage.output_tokens)
    assert final.usage.input_tokens == plain.usage.input_tokens


async def test_an_asynchronous_stream_is_read(here: Place) -> None:
    here.says(["One", " two"])
    async with (
        AsyncAnthropic(base_url=f"http://{here.server.address}", api_key="none") as client,
        client.messages.stream(
            model="plain", max_tokens=9, messages=[{"role": "user", "content": "x"}]
        ) as stream,
    ):
        assert [text async for text in stream.text_stream] == ["One", " two"]


@pytest.mark.parametrize(
    ("end", "reason"), [({"stop_type": "limit"}, "max_tokens"), (FULL_WINDOW, "max_tokens"), ({}, "end_turn")]
)
def test_the_reason_of_the_end_is_told(here: Place, client: Anthropic, end: Json, reason: str) -> None:
    here.says(["One", end])
    assert ask(client, "plain").stop_reason == reason
    assert streamed(client, "plain")[0].stop_reason == reason


def test_b080_a_stop_sequence_is_enforced_and_told(here: Place, client: Anthropic) -> None:
    here.says(["one two ", {"stop_type": "word", "stopping_word": "HALT"}])
    for reply in (
        ask(client, "plain", stop_sequences=["HALT"]),
        streamed(client, "plain", stop_sequences=["HALT"])[0],
    ):
        assert content(reply) == [{"type": "text", "text": "one two "}]
        assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", "HALT")
    assert here.calls("/completion")[0]["stop"] == ["HALT"]


@pytest.mark.parametrize("model", ["plain", "native"])
def test_b080_a_stop_sequence_that_the_engine_lets_through_is_enforced(
    here: Place, client: Anthropic, model: str
) -> None:
    here.says(["one two ", "HA", "LT", " three"])
    for reply in (
        ask(client, model, stop_sequences=["HALT"]),
        streamed(client, model, stop_sequences=["HALT"])[0],
    ):
        assert content(reply) == [{"type": "text", "text": "one two "}]
        assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", "HALT")


def test_b080_a_stop_sequence_is_told_by_an_engine_that_renders(here: Place, client: Anthropic) -> None:
    ending = {"stop_type": "word", "stopping_word": "HALT"}
    first, end, last = deltas({"content": "one two "})
    assert isinstance(first, dict)
    frames = [{**first, "__verbose": ending}, end, last]
    here.script(answers={"/v1/chat/completions": [{"sse": frames}] * 3})
    for reply in (
        ask(client, "native", stop_sequences=["HALT"]),
        streamed(client, "native", stop_sequences=["HALT"])[0],
    ):
        assert content(reply) == [{"type": "text", "text": "one two "}]
        assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", "HALT")
    assert here.calls("/v1/chat/completions")[0]["verbose"] is True
    assert ask(client, "native").stop_reason == "end_turn"
    assert "verbose" not in here.calls("/v1/chat/completions")[-1]


def test_a_stop_of_the_model_is_the_end_of_its_turn(here: Place, client: Anthropic) -> None:
    here.says(["one", {"stop_type": "word", "stopping_word": "<eot>"}])
    reply = ask(client, "plain", stop_sequences=["HALT"])
    assert (reply.stop_reason, reply.stop_sequence) == ("end_turn", None)


def test_b081_what_came_from_the_cache_is_told(here: Place, client: Anthropic) -> None:
    def usage(cached: int) -> Json:
        here.says(["x", {"timings": {"cache_n": cached, "prompt_n": 8, "predicted_n": 1}}])
        system = [{"type": "text", "text": "long " * 50, "cache_control": {"type": "ephemeral"}}]
        replies = ask(client, "plain", system=system), streamed(client, "plain", system=system)[0]
        plain, stream = (reply.usage.model_dump(exclude_none=True) for reply in replies)
        assert plain == stream
        return plain

    assert usage(0)["cache_read_input_tokens"] == 0
    assert usage(90) == usage(0) | {"input_tokens": 98, "cache_read_input_tokens": 90}


# ---- tools ----


def test_b078_a_streamed_call_is_no_empty_text(here: Place, client: Anthropic) -> None:
    here.says([CALL])
    plain = ask(client, "tools", tools=[FIND])
    final, events = streamed(client, "tools", tools=[FIND])
    assert [event.content_block.type for event in events if event.type == "content_block_start"] == [
        "tool_use"
    ]
    assert final.stop_reason == plain.stop_reason == "tool_use"
    assert content(final) == content(plain)


def test_b079_the_streamed_input_is_complete(here: Place, client: Anthropic) -> None:
    here.says([CALL])
    final, events = streamed(client, "tools", tools=[FIND])
    parts = [event.delta.partial_json for event in events if event.type == "content_block_delta"]
    assert json.loads("".join(parts)) == {"pattern": "*.txt", "depth": 2}
    [call] = final.content
    assert isinstance(call, ToolUseBlock)
    assert call.input == {"pattern": "*.txt", "depth": 2}
    assert call.id


def test_text_and_calls_share_a_message(here: Place, client: Anthropic) -> None:
    here.says(["Let me look.", CALL])
    for reply in (ask(client, "tools", tools=[FIND]), streamed(client, "tools", tools=[FIND])[0]):
        assert [block.type for block in reply.content] == ["text", "tool_use"]
        assert isinstance(reply.content[0], TextBlock)
        assert reply.content[0].text == "Let me look."


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_is_run_and_its_result_answered(here: Place, client: Anthropic, stream: bool) -> None:
    ran: list[tuple[str, int]] = []

    @beta_tool
    def find(pattern: str, depth: int = 1) -> str:
        """Find files.

        Args:
            pattern: What to look for.
            depth: How deep.
        """
        ran.append((pattern, depth))
        return "a.txt"

    here.says([CALL], ["There is a.txt."])
    runner: Any = client.beta.messages.tool_runner(
        model="tools",
        max_tokens=100,
        messages=[{"role": "user", "content": "Which files?"}],
        tools=[find],
        stream=stream,
    )
    final = runner.until_done()
    assert ran == [("*.txt", 2)]
    assert final.content[0].text == "There is a.txt."
    assert "<|tool|>a.txt" in here.calls("/completion")[1]["prompt"]


def test_results_of_tools_may_be_errors_and_images(here: Place, client: Anthropic) -> None:
    here.says(["I see."])
    called = {"type": "tool_use", "id": "t1", "name": "find", "input": {"pattern": "*"}}
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": "no such folder", "is_error": True}
    messages = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": [called]},
        {"role": "user", "content": [failed]},
    ]
    assert content(ask(client, "tools", tools=[FIND], messages=messages))[0]["text"] == "I see."
    assert "<|tool|>no such folder" in here.calls("/completion")[0]["prompt"]
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    shown = failed | {"content": [{"type": "image", "source": source}]}
    ask(client, "native", messages=[*messages[:2], {"role": "user", "content": [shown]}])
    [call] = here.calls("/v1/chat/completions")
    assert PIXEL in json.dumps(call["messages"][-1])


def test_tools_are_hidden_when_none_may_be_called(here: Place, client: Anthropic) -> None:
    here.says(["No."], ["No."])
    ask(client, "tools", tools=[FIND], tool_choice={"type": "auto"})
    ask(client, "tools", tools=[FIND], tool_choice={"type": "none"})
    shown, hidden = (call["prompt"] for call in here.calls("/completion"))
    assert "find" in shown
    assert "find" not in hidden


def test_a_choice_of_no_tool_of_the_request_is_refused(client: Anthropic) -> None:
    with pytest.raises(BadRequestError, match="other"):
        ask(client, "tools", tools=[FIND], tool_choice={"type": "tool", "name": "other"})


# ---- thoughts ----


def test_b082_thoughts_come_first(here: Place, client: Anthropic) -> None:
    here.says(["<think>", "They ", "ask.", "</think>", "Fine."])
    thinking = {"type": "enabled", "budget_tokens": 1024}
    plain = ask(client, "thinking", thinking=thinking)
    final, events = streamed(client, "thinking", thinking=thinking)
    assert [block.type for block in plain.content] == ["thinking", "text"]
    assert content(plain) == content(final)
    kinds = [event.delta.type if event.type == "content_block_delta" else event.type for event in events]
    assert [kind for index, kind in enumerate(kinds) if kinds[index - 1 : index] != [kind]] == [
        "message_start",
        "content_block_start",
        "thinking_delta",
        "signature_delta",
        "content_block_stop",
        "content_block_start",
        "text_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    signatures = [
        block.signature for block in (plain.content[0], final.content[0]) if block.type == "thinking"
    ]
    assert signatures[0] == signatures[1] != ""


def test_thoughts_may_be_sent_back(here: Place, client: Anthropic) -> None:
    here.says(["<think>", "hm", "</think>", "Yes."], ["<think>", "so", "</think>", "No."])
    thinking = {"type": "enabled", "budget_tokens": 1024}
    first = ask(client, "thinking", thinking=thinking)
    assert isinstance(first.content[0], ThinkingBlock)
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": "y"},
    ]
    ask(client, "thinking", thinking=thinking, messages=messages)
    assert "<|assistant|><think>hm</think>Yes.\n" in here.calls("/completion")[1]["prompt"]


def test_a_model_without_thoughts_just_answers(here: Place, client: Anthropic) -> None:
    here.says(["Fine."])
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert content(ask(client, "plain", thinking=thinking)) == [{"type": "text", "text": "Fine."}]


# ---- what is wrong ----


def test_b072_every_dialect_has_its_own_errors(here: Place, client: Anthropic) -> None:
    message = "model 'absent' not found"
    with pytest.raises(NotFoundError) as caught:
        ask(client, "absent")
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["type"] == "error"
    assert caught.value.body["error"] == {"type": "not_found_error", "message": message}
    assert caught.value.body["request_id"].startswith("req_")
    body = {"model": "absent", "messages": [{"role": "user", "content": "x"}]}
    assert post(here.server, "/api/chat", body).body == {"error": message}
    assert post(here.server, "/v1/chat/completions", body).body["error"]["type"] == "not_found_error"


def test_a_stream_that_cannot_begin_is_refused_as_a_plain_reply_is(here: Place, client: Anthropic) -> None:
    here.script(answers={"/completion": [{"status": 500, "json": {"error": {"message": "broken"}}}]})
    with pytest.raises(InternalServerError, match="broken"):
        streamed(client, "plain")
    with pytest.raises(NotFoundError):
        streamed(client, "absent")


def test_a_stream_that_breaks_off_says_why(here: Place, client: Anthropic) -> None:
    frames = [
        *list(completion(["One"]))[:1],
        {"error": {"code": 500, "message": "mid", "type": "server_error"}},
    ]
    here.script(answers={"/completion": [{"sse": frames}]})
    with pytest.raises(APIStatusError, match="mid") as caught:
        streamed(client, "plain")
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == "api_error"


def test_remote_images_are_refused(client: Anthropic) -> None:
    source = {"type": "url", "url": "https://example.com/owl.png"}
    with pytest.raises(BadRequestError, match="Only base64 images are supported"):
        ask(client, "plain", messages=[{"role": "user", "content": [{"type": "image", "source": source}]}])


def test_cloud_models_are_refused(client: Anthropic) -> None:
    with pytest.raises(PermissionDeniedError, match="ollama cloud is disabled"):
        ask(client, "big:cloud")


def test_b064_a_system_message_in_mid_conversation_is_answered(here: Place, client: Anthropic) -> None:
    refused = {"status": 500, "json": {"error": {"message": "Jinja Exception: System message must be first"}}}
    here.script(answers={"/v1/chat/completions": [refused, {"sse": deltas({"content": "Fine."})}]})
    roles = ("user", "assistant", "system", "user")
    messages = [{"role": role, "content": f"{role} text"} for role in roles]
    reply = ask(client, "native", system="Be kind.", messages=messages)
    assert content(reply) == [{"type": "text", "text": "Fine."}]
    sent = here.calls("/v1/chat/completions")[1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert "system text" in sent[-1]["content"]


# ---- counting, and what a server can tell while nothing comes ----


def test_the_tokens_of_a_prompt_are_counted(here: Place, client: Anthropic) -> None:
    messages: Any = [{"role": "user", "content": "How many owls?"}]
    for model in ("plain", "native"):
        count = client.messages.count_tokens(model=model, system="Be kind.", messages=messages)
        shorter = client.messages.count_tokens(model=model, messages=messages)
        assert count.input_tokens > shorter.input_tokens > 0
    with pytest.raises(NotFoundError):
        client.messages.count_tokens(model="absent", messages=messages)
    assert here.calls("/completion") == []


def test_silence_is_broken_by_pings(tmp_path: Any) -> None:
    with place(tmp_path, {"ORCH_SSE_PING": "20ms"}) as here:
        here.model("plain", template=PLAIN)
        here.script(answers={"/completion": [{"sse": [{"$sleep": 0.3}, *completion(["One"])]}]})
        with (
            client_of(here.server.address) as client,
            client.messages.with_streaming_response.create(
                model="plain", max_tokens=9, messages=[{"role": "user", "content": "x"}], stream=True
            ) as response,
        ):
            events = [line for line in response.iter_lines() if line.startswith("event: ")]
    assert events[0] == "event: ping"
    told = [event for event in events if event != "event: ping"]
    assert told[0] == "event: message_start"
    assert told[-1] == "event: message_stop"


# ---- the real engine ----


def test_the_real_engine_answers(real_client: Anthropic) -> None:
    plain = ask(real_client, CHAT_MODEL, "Name a colour.", extra_body=GREEDY)
    final, _ = streamed(real_client, CHAT_MODEL, "Name a colour.", extra_body=GREEDY)
    assert content(plain) == content(final) != []
    assert plain.stop_reason == final.stop_reason in ("end_turn", "max_tokens")
    assert plain.usage.input_tokens == final.usage.input_tokens > 10


@pytest.mark.parametrize("text", ["Hi!", "Grüße 漢字 🙂", "one two " * 50])
def test_tokens_are_counted_as_the_engine_does(real_client: Anthropic, text: str) -> None:
    messages: Any = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": [{"type": "text", "text": text}]},
    ]
    asked: Json = {"model": CHAT_MODEL, "system": "Be brief.", "messages": messages}
    count = real_client.messages.count_tokens(**asked)
    reply = real_client.messages.create(**asked, max_tokens=1)
    assert count.input_tokens == reply.usage.input_tokens


class City(BaseModel):
    """What the model is asked for."""

    name: str
    people: int


def test_b080_the_real_engine_tells_which_stop_sequence_was_met(real_client: Anthropic) -> None:
    stops = ["QQQ", " "]
    for reply in (
        ask(real_client, CHAT_MODEL, "Name a colour.", stop_sequences=stops, extra_body=GREEDY),
        streamed(real_client, CHAT_MODEL, "Name a colour.", stop_sequences=stops, extra_body=GREEDY)[0],
    ):
        assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", " ")


def test_the_form_of_an_answer_is_kept(real_client: Anthropic) -> None:
    parsed = real_client.messages.parse(
        model=CHAT_MODEL,
        max_tokens=100,
        extra_body=GREEDY,
        messages=[{"role": "user", "content": "Paris, as JSON."}],
        output_format=City,
    )
    assert isinstance(parsed.parsed_output, City)


def test_a_forced_call_is_made_by_the_real_engine(real_daemon: str, real_client: Anthropic) -> None:
    host, _, port = real_daemon.rpartition(":")
    model = {"model": "caller", "from": CHAT_MODEL, "template": TOOLS, "stream": False}
    assert post(Server(host, int(port)), "/api/create", model).status == 200
    reply = real_client.messages.create(
        model="caller",
        max_tokens=200,
        messages=[{"role": "user", "content": "Which text files are there?"}],
        tools=[FIND],
        tool_choice={"type": "tool", "name": "find"},
        extra_body=GREEDY,
    )
    [call] = reply.content
    assert isinstance(call, ToolUseBlock)
    assert call.name == "find"
    assert isinstance(call.input["pattern"], str)
    assert reply.stop_reason == "tool_use"
