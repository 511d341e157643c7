"""The Python package ``ollama``, unchanged: over a scripted engine, and over a real one with real models."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from typing import Annotated, Literal

import pytest
from ollama import AsyncClient, Client, Message, ResponseError
from pydantic import BaseModel, Field

from integration.cases.place import CALL, Place, completion
from integration.conftest import CHAT_MODEL, EMBEDDING_MODEL

pytestmark = pytest.mark.timeout(180)  # a real engine, on whatever the machine has left

SHORT = {"num_predict": 12, "temperature": 0, "seed": 1}
QUESTION = [{"role": "user", "content": "Name a colour."}]


@pytest.fixture
def client(real_daemon: str) -> Iterator[Client]:
    """A client of the real daemon."""
    with closing(Client(f"http://{real_daemon}")) as client:
        yield client


@pytest.fixture
async def async_client(real_daemon: str) -> AsyncIterator[AsyncClient]:
    """An asynchronous client of the real daemon."""
    async with AsyncClient(f"http://{real_daemon}") as client:
        yield client


@contextmanager
def refused(status: int, text: str) -> Iterator[None]:
    """The block is refused with this status, in these words."""
    with pytest.raises(ResponseError, match=text) as caught:
        yield
    assert caught.value.status_code == status


# ---- chat ----


def test_a_chat_is_answered(client: Client) -> None:
    reply = client.chat(CHAT_MODEL, QUESTION, options=SHORT)
    assert reply.model == CHAT_MODEL
    assert reply.message.role == "assistant"
    assert reply.message.content
    assert reply.done
    assert reply.done_reason in ("stop", "length")
    assert 0 < (reply.eval_count or 0) <= 12
    assert (reply.prompt_eval_count or 0) > 10
    assert (reply.total_duration or 0) > (reply.eval_duration or 0) > 0


def test_a_streamed_chat_has_the_text_of_the_plain_one(client: Client) -> None:
    plain = client.chat(CHAT_MODEL, QUESTION, options=SHORT)
    parts = list(client.chat(CHAT_MODEL, QUESTION, options=SHORT, stream=True))
    assert "".join(part.message.content or "" for part in parts) == plain.message.content
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].eval_count == plain.eval_count


async def test_an_asynchronous_chat_streams(async_client: AsyncClient) -> None:
    parts = [part async for part in await async_client.chat(CHAT_MODEL, QUESTION, options=SHORT, stream=True)]
    assert "".join(part.message.content or "" for part in parts)
    assert parts[-1].done


async def test_an_asynchronous_chat_is_answered(async_client: AsyncClient) -> None:
    messages = [Message(role="system", content="Answer with one word."), Message(role="user", content="Hi!")]
    reply = await async_client.chat(CHAT_MODEL, messages, options=SHORT)
    assert reply.message.content


def test_a_stream_may_be_left(client: Client) -> None:
    endless = client.generate(
        CHAT_MODEL, "Count: 1, 2, 3,", raw=True, stream=True, options={"temperature": 0}
    )
    assert next(iter(endless)).response
    del endless
    assert client.generate(CHAT_MODEL, "Hi", options=SHORT).done


class Colour(BaseModel):
    """What a reply is forced to be."""

    name: Literal["orange", "purple"]
    red: Annotated[int, Field(ge=0, le=255)]
    is_warm: bool


def test_a_reply_follows_a_schema(client: Client) -> None:
    reply = client.chat(
        CHAT_MODEL,
        [
            {
                "role": "user",
                "content": 'Describe orange as {"name": "purple", "red": 90, "is_warm": false}',
            }
        ],
        format=Colour.model_json_schema(),
        options={"temperature": 0, "num_predict": 100},
    )
    assert Colour.model_validate_json(reply.message.content or "")


def test_a_reply_is_json(client: Client) -> None:
    reply = client.generate(
        CHAT_MODEL,
        "Describe orange as a small JSON object.",
        format="json",
        options={"temperature": 0, "num_predict": 300},
    )
    text = reply.response or ""
    assert (
        isinstance(json.loads(text), dict) if reply.done_reason == "stop" else text.lstrip().startswith("{")
    )


# ---- generate ----


def test_a_prompt_is_completed(client: Client) -> None:
    reply = client.generate(CHAT_MODEL, "Name a colour.", system="You are terse.", options=SHORT)
    assert reply.response
    assert reply.context
    assert reply.load_duration is not None


def test_a_context_is_continued(client: Client) -> None:
    first = client.generate(CHAT_MODEL, "My name is Ada.", options=SHORT)
    second = client.generate(CHAT_MODEL, "And yours?", context=first.context, options=SHORT)
    assert len(second.context or ()) > len(first.context or ())


def test_equal_seeds_give_equal_replies(client: Client) -> None:
    options = {"num_predict": 12, "seed": 7, "temperature": 0.9}
    replies = {client.generate(CHAT_MODEL, "Tell me a word.", options=options).response for _ in range(2)}
    assert len(replies) == 1


def test_a_reply_ends_at_a_stop_string(client: Client) -> None:
    prompt = "1, 2, 3, 4, 5,"
    options = {"num_predict": 30, "temperature": 0, "stop": ["8"]}
    reply = client.generate(CHAT_MODEL, prompt, raw=True, options=options)
    assert "8" not in (reply.response or "")
    assert reply.done_reason == "stop"


def test_log_probabilities_come_with_the_tokens(client: Client) -> None:
    options = {"num_predict": 3, "temperature": 0}
    reply = client.generate(CHAT_MODEL, "Hi", logprobs=True, top_logprobs=2, options=options)
    assert reply.logprobs
    for entry in reply.logprobs:
        assert entry.logprob <= 0
        assert len(entry.top_logprobs or ()) == 2


async def test_an_asynchronous_prompt_is_completed(async_client: AsyncClient) -> None:
    reply = await async_client.generate(CHAT_MODEL, "Name a colour.", options=SHORT)
    assert reply.response


# ---- embed ----


def test_texts_are_embedded(client: Client) -> None:
    reply = client.embed(EMBEDDING_MODEL, ["a cat", "a kitten", "tax law"])
    cat, kitten, law = reply.embeddings
    assert [math.hypot(*vector) for vector in (cat, kitten, law)] == pytest.approx([1, 1, 1], abs=1e-4)
    assert len(cat) == 384
    assert _likeness(cat, kitten) > _likeness(cat, law) + 0.2
    assert reply.prompt_eval_count


def test_vectors_can_be_shortened(client: Client) -> None:
    (vector,) = client.embed(EMBEDDING_MODEL, "a cat", dimensions=64).embeddings
    assert len(vector) == 64
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-4)


async def test_texts_are_embedded_asynchronously(async_client: AsyncClient) -> None:
    (vector,) = (await async_client.embed(EMBEDDING_MODEL, "a cat")).embeddings
    assert len(vector) == 384


def test_the_older_embedding_call_works(client: Client) -> None:
    assert len(client.embeddings(EMBEDDING_MODEL, "a cat").embedding) == 384


# ---- models ----


def test_models_are_listed(client: Client) -> None:
    models = {model.model: model for model in client.list().models}
    assert {f"{CHAT_MODEL}:latest", f"{EMBEDDING_MODEL}:latest"} <= models.keys()
    chat = models[f"{CHAT_MODEL}:latest"]
    assert chat.details is not None
    assert (chat.details.family, chat.details.format, chat.details.quantization_level) == (
        "llama",
        "gguf",
        "Q4_1",
    )
    assert (chat.size or 0) > 50_000_000
    assert chat.digest
    assert chat.modified_at


def test_a_model_is_shown(client: Client) -> None:
    shown = client.show(CHAT_MODEL)
    assert shown.capabilities == ["completion"]
    assert (shown.modelinfo or {})["general.architecture"] == "llama"
    assert "FROM" in (shown.modelfile or "")
    assert client.show(EMBEDDING_MODEL).capabilities == ["embedding"]


def test_loaded_models_are_told(client: Client) -> None:
    client.generate(CHAT_MODEL, "Hi", options=SHORT, keep_alive="10m")
    (loaded,) = [model for model in client.ps().models if model.model == f"{CHAT_MODEL}:latest"]
    assert loaded.expires_at is not None
    assert (loaded.context_length or 0) > 0
    assert (loaded.size or 0) > 0


def test_a_model_leaves_when_its_keep_alive_is_zero(client: Client) -> None:
    client.generate(CHAT_MODEL, "Hi", options=SHORT)
    reply = client.generate(CHAT_MODEL, keep_alive=0)
    assert reply.done_reason == "unload"
    assert f"{CHAT_MODEL}:latest" not in [model.model for model in client.ps().models]


def test_a_model_is_made_of_another_one_copied_and_deleted(client: Client) -> None:
    made = client.create(
        "ada",
        from_=CHAT_MODEL,
        system="You are Ada.",
        parameters={"temperature": 0.5, "stop": ["###"]},
        messages=[Message(role="user", content="Hi"), Message(role="assistant", content="Hello!")],
        license="MIT",
    )
    assert made.status == "success"
    shown = client.show("ada")
    assert "You are Ada." in (shown.modelfile or "")
    assert shown.license == "MIT"

    assert client.copy("ada", "lovelace").status == "success"
    assert client.chat("lovelace", QUESTION, options=SHORT).message.content
    for name in ("ada", "lovelace"):
        assert client.delete(name).status == "success"
        with refused(404, f"model '{name}:latest' not found"):
            client.show(name)


def test_progress_of_a_creation_is_streamed(client: Client) -> None:
    statuses = [
        part.status for part in client.create("brief", from_=CHAT_MODEL, system="Be brief.", stream=True)
    ]
    client.delete("brief")
    assert statuses[-1] == "success"
    assert len(statuses) > 1


# ---- tools and thoughts, over a scripted engine ----


def find(pattern: str, depth: int = 1) -> str:
    """Find files.

    Args:
        pattern: What their names look like.
        depth: How far down to look.

    Returns:
        Their names.
    """
    return f"{pattern} at {depth}: a.txt"


@pytest.fixture
def scripted_client(scripted_place: Place) -> Iterator[Client]:
    with closing(Client(f"http://{scripted_place.server.address}")) as client:
        yield client


@pytest.fixture
async def scripted_async_client(scripted_place: Place) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(f"http://{scripted_place.server.address}") as client:
        yield client


def calls_a_tool(here: Place) -> None:
    replies = (["Let me look. ", CALL], ["a.txt it is."])
    here.script(answers={"/completion": [{"sse": list(completion(reply))} for reply in replies]})


def results(message: Message) -> list[Message]:
    """What the tools that a message calls have to say."""
    return [
        Message(
            role="tool",
            tool_name=call.function.name,
            content=find(**call.function.arguments),
        )
        for call in message.tool_calls or ()
    ]


def test_a_function_is_a_tool(here: Place, scripted_client: Client) -> None:
    calls_a_tool(here)
    messages = [Message(role="user", content="Which files?")]
    first = scripted_client.chat("tools", messages, tools=[find]).message
    assert first.content == "Let me look. "
    messages += [first, *results(first)]
    assert scripted_client.chat("tools", messages, tools=[find]).message.content == "a.txt it is."
    asked, told = here.calls("/completion")
    assert "How far down to look" in asked["prompt"]
    assert told["prompt"].endswith("<|tool|>*.txt at 2: a.txt\n<|assistant|>")


async def test_tools_work_asynchronously_and_in_streams(
    here: Place, scripted_async_client: AsyncClient
) -> None:
    calls_a_tool(here)
    messages = [Message(role="user", content="Which files?")]
    stream = await scripted_async_client.chat("tools", messages, tools=[find], stream=True)
    parts = [part.message async for part in stream]
    assert "".join(part.content or "" for part in parts) == "Let me look. "
    [calling] = [part for part in parts if part.tool_calls]
    messages += [calling, *results(calling)]
    reply = await scripted_async_client.chat("tools", messages, tools=[find])
    assert reply.message.content == "a.txt it is."


def test_thoughts_stand_apart(here: Place, scripted_client: Client) -> None:
    here.says(["<think>hm", "</think>", "Yes."])
    message = scripted_client.chat("thinking", QUESTION, think=True).message
    assert (message.thinking, message.content) == ("hm", "Yes.")
    parts = [part.message for part in scripted_client.chat("thinking", QUESTION, think="high", stream=True)]
    assert "".join(part.thinking or "" for part in parts) == "hm"
    assert "".join(part.content or "" for part in parts) == "Yes."
    generated = scripted_client.generate("thinking", "x", think=True)
    assert (generated.thinking, generated.response) == ("hm", "Yes.")


async def test_asynchronous_calls_run_side_by_side(here: Place, scripted_async_client: AsyncClient) -> None:
    here.says(["Yes."])
    asked = [scripted_async_client.generate("plain", f"{number}") for number in range(5)]
    assert [reply.response for reply in await asyncio.gather(*asked)] == ["Yes."] * 5
    prompts = {call["prompt"] for call in here.calls("/completion")}
    assert len(prompts) == 5


async def test_models_are_managed_asynchronously(scripted_async_client: AsyncClient) -> None:
    client = scripted_async_client
    made = await client.create("made", from_="plain", system="Be brief.")
    assert made.status == "success"
    await client.copy("made", "copied")
    assert "Be brief." in ((await client.show("copied")).modelfile or "")
    names = {model.model for model in (await client.list()).models}
    assert {"made:latest", "copied:latest"} <= names
    for name in ("made", "copied"):
        assert (await client.delete(name)).status == "success"


def test_a_failure_in_a_stream_is_raised(here: Place, scripted_client: Client) -> None:
    first, *_ = completion(["One"])
    broken = {"error": {"code": 500, "message": "mid", "type": "server_error"}}
    here.script(answers={"/completion": [{"sse": [first, broken]}]})
    with pytest.raises(ResponseError, match="mid"):
        list(scripted_client.chat("plain", QUESTION, stream=True))


# ---- refusals ----


def test_unknown_models_are_refused(client: Client) -> None:
    with refused(404, "model 'nobody' not found"):
        client.chat("nobody", QUESTION)
    with refused(404, "model 'nobody' not found"):
        list(client.chat("nobody", QUESTION, stream=True))
    with refused(404, 'model "nobody" not found, try pulling it first'):
        client.embed("nobody", "text")
    with refused(404, "model 'nobody' not found"):
        client.delete("nobody")
    with refused(404, 'model "nobody" not found'):
        client.copy("nobody", "somebody")


def test_what_a_model_cannot_do_is_refused(client: Client) -> None:
    with refused(400, f'"{EMBEDDING_MODEL}" does not support chat'):
        client.chat(EMBEDDING_MODEL, QUESTION)
    with refused(400, f'"{CHAT_MODEL}" does not support thinking'):
        client.chat(CHAT_MODEL, QUESTION, think=True)
    with refused(400, "does not support insert"):
        client.generate(CHAT_MODEL, "def f(", suffix="return x")


async def test_asynchronous_refusals_carry_their_status(async_client: AsyncClient) -> None:
    with refused(404, "model 'nobody' not found"):
        await async_client.generate("nobody", "Hi")


def _likeness(one: list[float] | object, other: list[float] | object) -> float:
    assert isinstance(one, list)
    assert isinstance(other, list)
    return math.fsum(a * b for a, b in zip(one, other, strict=True))
