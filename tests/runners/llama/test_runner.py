"""Calls of a runner: answers, refusals, engines that break off, clients that leave, places in the engine."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, cast

import psutil
import pytest

from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason, Item, StopDetail
from orchestrator.domain.devices import Device
from orchestrator.domain.loads import RANK_POOLING
from orchestrator.domain.options import Options
from orchestrator.domain.requests import Message
from orchestrator.errors import EngineRefused, RunnerFailed, ShuttingDown
from orchestrator.runners.base import ChatCall, CompletionCall, Embedding, Ranking
from orchestrator.runners.llama.runner import LlamaRunner
from orchestrator.runners.turns import Turns
from tests.runners.conftest import Load
from tests.scripted_engine.control import ScriptedEngine

ONE = {"content": "One", "stop": False}
FINAL = {"content": "", "stop": True, "stop_type": "eos", "timings": {}}
CHAT_ONE = {"choices": [{"delta": {"content": "One"}, "finish_reason": None, "index": 0}]}

COMPLETION, CHAT = "/completion", "/v1/chat/completions"
CHAT_CALL = ChatCall(messages=(Message("user", "hi"),), options=Options())
GONE = (
    "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, "
    "check ollama server logs for details"
)


def stream(runner: LlamaRunner, path: str = COMPLETION, **members: Any) -> Batches:
    if path == COMPLETION:
        return runner.complete(CompletionCall(prompt="hi", options=Options(), **members))
    return runner.chat(ChatCall(messages=(Message("user", "hi"),), options=Options(), **members))


async def read(runner: LlamaRunner, path: str = COMPLETION, **members: Any) -> list[Item]:
    async with aclosing(cast(Any, stream(runner, path, **members))) as batches:
        return [item async for batch in batches for item in batch]


def content(items: Sequence[Item]) -> list[str]:
    return [item.content for item in items if isinstance(item, Chunk)]


@pytest.mark.parametrize("path", [COMPLETION, CHAT])
async def test_an_answer_is_chunks_and_one_end(load: Load, path: str) -> None:
    items = await read(await load(), path)
    assert content(items) == ["One", " two", " three."]
    assert isinstance(items[-1], Done)
    assert sum(isinstance(item, Done) for item in items) == 1
    assert items[-1].usage.prompt_tokens == 14


async def test_everything_that_arrives_together_is_one_batch(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(answers={COMPLETION: [{"sse": [{"$join": [ONE] * 20}, {"$sleep": 0.05}, FINAL]}]})
    async with aclosing(cast(Any, stream(await load()))) as batches:
        sizes = [len(batch) async for batch in batches]
    assert sizes == [20, 1]


async def test_the_end_is_told_when_the_whole_answer_was_read(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(answers={COMPLETION: [{"sse": [ONE, FINAL, {"$sleep": 0.05}]}]})
    runner = await load()
    assert isinstance((await read(runner))[-1], Done)
    assert [line["path"] for line in scripted.log("end")] == [COMPLETION]
    assert not scripted.log("client-gone")


@pytest.mark.parametrize("items", [[ONE], []])
async def test_an_answer_without_a_final_frame_ends_too(
    scripted: ScriptedEngine, load: Load, items: list[Any]
) -> None:
    scripted.script(answers={COMPLETION: [{"sse": items}]})
    assert (await read(await load()))[-1] == Done(DoneReason.STOP)


async def test_an_answer_cut_off_after_its_final_frame_is_whole(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(answers={COMPLETION: [{"sse": [ONE, FINAL, {"$abort": 1}]}]})
    runner = await load()
    assert content(await read(runner)) == ["One"]
    assert await runner.is_healthy()


async def test_endless_repetition_is_ended(scripted: ScriptedEngine, load: Load) -> None:
    scripted.script(answers={COMPLETION: [{"sse": [{"$repeat": 40, "event": ONE}, {"$sleep": 60}]}]})
    items = await read(await load())
    assert len(items) == 32
    assert isinstance(items[-1], Done)
    assert items[-1].detail is StopDetail.REPEAT
    await scripted.heard("client-gone")


# ---- refusals ----


@pytest.mark.parametrize("path", [COMPLETION, CHAT])
@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        ({"status": 400, "json": {"error": {"message": "bad"}}}, 400, '{"error": {"message": "bad"}}'),
        ({"status": 500, "body": "plain text\n"}, 500, "plain text"),
        ({"status": 500, "body": ""}, 500, ""),
        ({"status": 502, "body": "<html>x</html>", "type": "text/html"}, 502, "<html>x</html>"),
        ({"status": 500, "body": "x", "stderr": ["error: other line"]}, 500, "x"),
        (
            {"status": 500, "body": "x", "stderr": ["cudaMalloc failed: out of memory"]},
            500,
            "x\ncudaMalloc failed: out of memory",
        ),
        (
            {"status": 500, "body": "x out of memory", "stderr": ["out of memory"]},
            500,
            "x out of memory",
        ),
    ],
)
async def test_a_refusal_is_passed_on(
    scripted: ScriptedEngine, load: Load, path: str, answer: dict[str, Any], status: int, text: str
) -> None:
    runner = await load()
    scripted.script(answers={path: [answer]})
    with pytest.raises(EngineRefused) as caught:
        await read(runner, path)
    assert (caught.value.status, str(caught.value)) == (status, text)
    assert content(await read(runner, path)) == ["One", " two", " three."]


@pytest.mark.parametrize(
    ("path", "frames", "text"),
    [
        (
            COMPLETION,
            [ONE, {"error": {"code": 500, "message": "Compute error."}}],
            "llama-server error: Compute error.",
        ),
        (CHAT, [CHAT_ONE, {"error": "just text"}], "llama-server chat error: just text"),
    ],
)
async def test_an_error_in_the_stream_comes_after_what_went_before(
    scripted: ScriptedEngine, load: Load, path: str, frames: list[Any], text: str
) -> None:
    scripted.script(answers={path: [{"sse": [{"$join": frames}]}]})
    runner = await load()
    items: list[Item] = []
    with pytest.raises(RunnerFailed) as caught:
        await read_into(items, runner, path)
    assert (content(items), str(caught.value)) == (["One"], text)
    assert await runner.is_healthy()


async def read_into(items: list[Item], runner: LlamaRunner, path: str = COMPLETION) -> None:
    async with aclosing(cast(Any, stream(runner, path))) as batches:
        async for batch in batches:
            items += batch


async def test_an_event_beyond_the_limit_is_an_error(scripted: ScriptedEngine, load: Load) -> None:
    event = {"content": "a", "pad": "$BIG", "stop": False}
    scripted.script(answers={COMPLETION: [{"sse": [{"$big": 8_100_000, "event": event}]}]})
    with pytest.raises(RunnerFailed, match="^llama-server response stream event exceeded 8 MB limit$"):
        await read(await load())


@pytest.mark.parametrize("path", [COMPLETION, CHAT])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"json": {"error": {"code": 400, "message": "properties must be an object"}}}, "properties must be"),
        ({"json": {"error": "a bare text"}}, "a bare text"),
        ({"body": "no JSON at all"}, "no JSON at all"),
    ],
)
async def test_the_operator_is_told_the_reason_of_a_refusal(
    scripted: ScriptedEngine,
    load: Load,
    caplog: pytest.LogCaptureFixture,
    path: str,
    answer: dict[str, Any],
    why: str,
) -> None:
    caplog.set_level(logging.INFO)
    scripted.script(answers={path: [{"status": 400, **answer}]})
    with pytest.raises(EngineRefused):
        await read(await load(), path)
    (record,) = [each for each in caplog.records if each.message == "engine refused a request"]
    assert vars(record)["error"].startswith(why)


@pytest.mark.parametrize("path", [COMPLETION, CHAT])
async def test_a_schema_that_the_engine_cannot_hold_is_told_in_clear_words(
    scripted: ScriptedEngine, load: Load, path: str
) -> None:
    message = "Failed to initialize samplers: failed to parse grammar"
    document = {"error": {"code": 400, "message": message, "type": "invalid_request_error"}}
    scripted.script(answers={path: [{"status": 400, "json": document}]})
    with pytest.raises(EngineRefused) as caught:
        await read(await load(), path)
    told = json.loads(str(caught.value))["error"]
    assert (caught.value.status, told["code"], told["type"]) == (400, 400, "invalid_request_error")
    assert "more repetitions than the engine can take: keep minItems" in told["message"]


# ---- engines that break off ----


@pytest.mark.parametrize("path", [COMPLETION, CHAT])
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"drop": True}, ""),
        ({"drop": True, "stderr": ["GGML_ASSERT(x) failed"]}, ": GGML_ASSERT(x) failed"),
        ({"exit": 1}, ""),
        ({"exit": 1, "stderr": ["CUDA error: bad"]}, ": CUDA error: bad"),
    ],
)
async def test_a_connection_lost_before_the_answer_is_an_error(
    scripted: ScriptedEngine, load: Load, path: str, answer: dict[str, Any], words: str
) -> None:
    runner = await load()
    scripted.script(answers={path: [answer]})
    with pytest.raises(RunnerFailed) as caught:
        await read(runner, path)
    assert str(caught.value) == GONE + words
    assert await runner.is_healthy() == ("exit" not in answer)


@pytest.mark.parametrize(
    ("orders", "error"),
    [
        ([{"$exit": 1}], "llama-server process has terminated: exit status 1"),
        ([{"$kill": 9}], "llama-server process has terminated: signal: killed"),
        ([{"$kill": 11}], "llama-server process has terminated: signal: segmentation fault"),
        (
            [{"$stderr": ["terminate called without an active exception"]}, {"$kill": 6}],
            "llama-server process has terminated: signal: aborted: "
            "terminate called without an active exception",
        ),
        ([{"$abort": 1}], "unexpected EOF"),
        (
            [{"$stderr": ["GGML_ASSERT(n > 0) failed", "noise"]}, {"$exit": 134}],
            r"GGML_ASSERT\(n > 0\) failed",
        ),
        ([{"$stderr": ["CUDA error: out of memory"]}, {"$exit": 1}], "CUDA error: out of memory"),
    ],
)
@pytest.mark.parametrize(("path", "first"), [(COMPLETION, ONE), (CHAT, CHAT_ONE)])
async def test_an_answer_cut_off_is_an_error_and_the_end_of_the_process(
    scripted: ScriptedEngine, load: Load, path: str, first: Any, orders: list[Any], error: str
) -> None:
    runner = await load()
    scripted.script(answers={path: [{"sse": [first, *orders]}]})
    items: list[Item] = []
    with pytest.raises(
        RunnerFailed, match=f"^an error was encountered while running the model: {error}$"
    ) as caught:
        await read_into(items, runner, path)
    assert content(items) == ["One"]
    assert caught.value.out_of_memory == ("out of memory" in error)
    assert not psutil.pid_exists(runner.pid)


async def test_an_engine_killed_in_prefill_is_an_error(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load()
    scripted.script(answers={COMPLETION: [{"prefill": 60}]})
    call = asyncio.create_task(read(runner))
    await scripted.heard("request", path=COMPLETION)
    os.kill(runner.pid, signal.SIGKILL)
    with pytest.raises(RunnerFailed, match="^model runner has unexpectedly stopped"):
        await call


OTHER_CALLS: list[tuple[str, Callable[[LlamaRunner], Awaitable[Any]]]] = [
    ("/v1/embeddings", lambda runner: runner.embed("x")),
    ("/v1/rerank", lambda runner: runner.rerank("x", ["y"])),
    ("/tokenize", lambda runner: runner.tokenize("x")),
    ("/detokenize", lambda runner: runner.detokenize([1])),
    ("/apply-template", lambda runner: runner.apply_template(CHAT_CALL)),
]


@pytest.mark.parametrize(("path", "call"), OTHER_CALLS)
async def test_other_calls_tell_how_the_engine_ended_too(
    scripted: ScriptedEngine, load: Load, path: str, call: Callable[[LlamaRunner], Awaitable[Any]]
) -> None:
    runner = await load()
    scripted.script(answers={path: [{"exit": 7}]})
    with pytest.raises(RunnerFailed, match=": llama-server process has terminated: exit status 7$"):
        await call(runner)


@pytest.mark.parametrize(
    ("path", "call"),
    [(COMPLETION, lambda runner: read(runner)), (CHAT, lambda runner: read(runner, CHAT)), *OTHER_CALLS],
)
async def test_a_runner_taken_away_says_that_the_server_stops(
    scripted: ScriptedEngine, load: Load, path: str, call: Callable[[LlamaRunner], Awaitable[Any]]
) -> None:
    runner = await load()
    scripted.script(answers={path: [{"prefill": 60}]})
    waiting = asyncio.ensure_future(call(runner))
    await scripted.heard("request", path=path)
    await runner.stop()
    with pytest.raises(ShuttingDown, match="^the server is shutting down$"):
        await waiting


async def test_a_stream_from_a_runner_taken_away_says_that_the_server_stops(
    scripted: ScriptedEngine, load: Load
) -> None:
    runner = await load()
    scripted.script(answers={COMPLETION: [{"sse": [ONE, {"$sleep": 60}, FINAL]}]})
    async with aclosing(cast(Any, stream(runner))) as batches:
        assert content(await anext(batches)) == ["One"]
        await runner.stop()
        with pytest.raises(ShuttingDown):
            await anext(batches)


async def test_an_engine_killed_between_calls_is_an_error_of_the_next(load: Load) -> None:
    runner = await load()
    os.kill(runner.pid, signal.SIGKILL)
    await runner.exited()
    with pytest.raises(RunnerFailed, match="^llama-server process no longer running: signal: killed$"):
        await read(runner)


# ---- health before each call ----


async def test_an_engine_that_loads_again_takes_no_calls(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load()
    loading = {"status": 503, "json": {"error": {"message": "Loading model"}}}
    scripted.script(health=True, answers={"/health": [loading]})
    with pytest.raises(RunnerFailed, match="^unexpected server status: llm server loading model$"):
        await read(runner)
    assert not scripted.requests(COMPLETION)


async def test_one_odd_answer_to_the_health_check_is_forgiven(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load()
    scripted.script(health=True, answers={"/health": [{"status": 500, "body": "x"}]})
    assert content(await read(runner)) == ["One", " two", " three."]


@pytest.mark.parametrize("times", [10, 11])
async def test_a_busy_engine_is_asked_again_ten_times(
    scripted: ScriptedEngine, load: Load, times: int
) -> None:
    runner = await load()
    busy = {"status": 503, "json": {"status": "no slot available"}}
    scripted.script(health=True, answers={"/health": [busy] * times})
    if times == 10:
        assert content(await read(runner)) == ["One", " two", " three."]
        return
    with pytest.raises(RunnerFailed, match="^no slots available after 10 retries$"):
        await read(runner)


# ---- clients that leave, places in the engine ----


@pytest.mark.parametrize(
    "answer", [{"prefill": 60, "sse": []}, {"sse": [ONE, {"$sleep": 60}, FINAL]}], ids=["prefill", "stream"]
)
async def test_a_client_that_leaves_stops_the_engine_and_frees_its_place(
    scripted: ScriptedEngine, load: Load, answer: dict[str, Any]
) -> None:
    runner = await load()
    scripted.script(answers={COMPLETION: [answer]})
    call = asyncio.create_task(read(runner))
    await scripted.heard("request", path=COMPLETION)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await scripted.heard("client-gone", path=COMPLETION)
    assert content(await read(runner)) == ["One", " two", " three."]


async def test_a_stream_closed_early_stops_the_engine(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load()
    scripted.script(answers={COMPLETION: [{"sse": [ONE, {"$sleep": 60}, FINAL]}]})
    async with aclosing(cast(Any, stream(runner))) as batches:
        assert content(await anext(batches)) == ["One"]
    await scripted.heard("client-gone", path=COMPLETION)


@pytest.mark.parametrize("parallel", [1, 2])
async def test_no_more_calls_reach_the_engine_than_it_has_slots(
    scripted: ScriptedEngine, load: Load, parallel: int
) -> None:
    runner = await load(parallel=parallel)
    scripted.script(answers={COMPLETION: [{"sse": [ONE, {"$sleep": 0.05}, FINAL]}] * 6})
    async with asyncio.TaskGroup() as calls:
        for _ in range(6):
            calls.create_task(read(runner))
    running = most = 0
    for line in sorted([*scripted.log("request"), *scripted.log("end")], key=lambda line: line["t"]):
        running += 1 if line["ev"] == "request" else -1
        most = max(most, running)
    assert most == parallel


@pytest.mark.parametrize("leaves", [False, True], ids=["ends", "leaves"])
async def test_an_engine_waits_while_another_has_the_cores(
    scripted: ScriptedEngine, load: Load, leaves: bool
) -> None:
    scripted.script(answers={COMPLETION: [{"sse": [ONE, {"$sleep": 0.05}, FINAL]}]})
    turns = Turns(cores=2, turn_s=3600)
    first, second = await load(turns=turns), await load(turns=turns, threads=2)
    async with aclosing(cast(Any, stream(first))) as batches:
        await anext(batches)
        waiting = asyncio.create_task(read(second))
        await asyncio.to_thread(os.waitid, os.P_PID, second.pid, os.WSTOPPED | os.WNOWAIT)
        if not leaves:
            assert isinstance([item async for batch in batches for item in batch][-1], Done)
    assert content(await waiting) == ["One", " two", " three."]


async def test_engines_of_other_devices_do_not_wait(load: Load) -> None:
    turns, gpu = Turns(cores=2, turn_s=3600), Device("CUDA", "0", "CUDA0")
    runners = [await load(turns=turns, devices=(gpu,)) for _ in range(2)]
    async with aclosing(cast(Any, stream(runners[0]))) as batches:
        await anext(batches)
        assert content(await read(runners[1])) == ["One", " two", " three."]


async def test_a_call_that_waits_for_a_slot_can_be_cancelled(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load()
    scripted.script(answers={COMPLETION: [{"sse": [ONE, {"$sleep": 0.2}, FINAL]}]})
    first = asyncio.create_task(read(runner))
    await scripted.heard("request", path=COMPLETION)
    second, third = asyncio.create_task(read(runner)), asyncio.create_task(read(runner))
    await asyncio.sleep(0)
    second.cancel()
    assert content(await first) == ["One"]
    assert content(await third) == ["One", " two", " three."]
    with pytest.raises(asyncio.CancelledError):
        await second
    assert len(scripted.requests(COMPLETION)) == 2


# ---- the other calls ----


async def test_text_becomes_tokens_and_tokens_text(load: Load) -> None:
    runner = await load()
    tokens = await runner.tokenize("hello")
    assert await runner.detokenize(tokens) == "hello"
    assert await runner.tokenize("hello", add_special=True) == [1, *tokens]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"status": 500, "body": "oops\n"}, "^{} error: oops$"),
        ({"status": 200, "body": "oops"}, "^unmarshal {} response: .+"),
        ({"drop": True}, "^{} error: .+"),
    ],
)
@pytest.mark.parametrize("name", ["tokenize", "detokenize"])
async def test_failures_to_count_are_told(
    scripted: ScriptedEngine, load: Load, name: str, answer: dict[str, Any], error: str
) -> None:
    runner = await load()
    scripted.script(answers={f"/{name}": [answer]})
    with pytest.raises(RunnerFailed, match=error.format(name)):
        await (runner.tokenize("x") if name == "tokenize" else runner.detokenize([1]))


async def test_empty_answers_are_nothing(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load()
    empty = [{"status": 200, "json": {}}]
    scripted.script(answers={"/tokenize": empty, "/detokenize": empty, "/apply-template": empty})
    call = ChatCall(messages=(), options=Options())
    assert (await runner.tokenize("x"), await runner.detokenize([1]), await runner.apply_template(call)) == (
        [],
        "",
        "",
    )


async def test_media_in_a_templates_prompt_are_tags(load: Load) -> None:
    call = ChatCall(
        messages=(Message("user", "a", images=(b"1", b"2")), Message("user", "b", images=(b"3",))),
        options=Options(),
    )
    prompt = await (await load()).apply_template(call)
    assert prompt == "<user>a[img-0][img-1]\n<user>b[img-2]\n<assistant>"


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        ({"status": 400, "body": "jinja"}, EngineRefused, "^jinja$"),
        (
            {"status": 200, "json": {"error": "bad tmpl"}},
            RunnerFailed,
            "^llama-server template error: bad tmpl$",
        ),
        (
            {"status": 200, "body": "oops"},
            RunnerFailed,
            "^error unmarshalling llama-server template response: .+",
        ),
        ({"drop": True}, RunnerFailed, "^llama-server apply-template error: .+"),
    ],
)
async def test_failures_of_templates_are_told(
    scripted: ScriptedEngine, load: Load, answer: dict[str, Any], error: type[Exception], text: str
) -> None:
    runner = await load()
    scripted.script(answers={"/apply-template": [answer]})
    with pytest.raises(error, match=text):
        await runner.apply_template(ChatCall(messages=(), options=Options()))


async def test_a_text_becomes_a_vector(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load(facts={"architecture": "bert"})
    assert await runner.embed("hello") == Embedding((3.0, 0.0, 4.0, 5.0), 4)
    assert scripted.requests("/v1/embeddings") == [{"input": "hello", "embd_normalize": -1}]


@pytest.mark.parametrize(
    ("document", "embedding"),
    [
        ([{"embedding": [1, 2], "index": 0}], Embedding((1.0, 2.0), 0)),
        ([{"embedding": [[1, 2]], "index": 0}], Embedding((1.0, 2.0), 0)),
        ({"data": [{"embedding": [1], "tokens_evaluated": 8}]}, Embedding((1.0,), 8)),
        ({"data": [{"embedding": [None, 1]}], "usage": {"prompt_tokens": 5}}, Embedding((0.0, 1.0), 5)),
    ],
)
async def test_vectors_of_all_routes_are_understood(
    scripted: ScriptedEngine, load: Load, document: Any, embedding: Embedding
) -> None:
    runner = await load()
    scripted.script(answers={"/v1/embeddings": [{"status": 200, "json": document}]})
    assert await runner.embed("x") == embedding


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        ({"status": 500, "json": {"error": {"message": "Compute error."}}}, 500, "^Compute error.$"),
        (
            {"status": 500, "json": {"error": {"message": "input (9 tokens) is too large to process."}}},
            400,
            "^the input length exceeds the context length$",
        ),
        ({"status": 500, "json": {"error": "string error"}}, 500, "^string error$"),
        ({"status": 500, "json": {"message": "top"}}, 500, '^{"message": "top"}$'),
        ({"status": 500, "body": "text only"}, 500, "^text only$"),
        ({"status": 200, "json": {"data": []}}, 400, "^unmarshal embedding response: json: .+"),
        ({"status": 200, "json": []}, 400, "^empty embedding response$"),
        ({"status": 200, "body": "x"}, 400, "^unmarshal embedding response: .+"),
        ({"status": 200, "body": '{"data":[{"embedding":[NaN]}]}'}, 400, "^unmarshal embedding response: .+"),
    ],
)
async def test_failures_to_embed_are_told(
    scripted: ScriptedEngine, load: Load, answer: dict[str, Any], status: int, text: str
) -> None:
    runner = await load()
    scripted.script(answers={"/v1/embeddings": [answer]})
    with pytest.raises(EngineRefused, match=text) as caught:
        await runner.embed("x")
    assert caught.value.status == status


async def test_an_engine_that_dies_embedding_is_an_error(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load()
    scripted.script(answers={"/v1/embeddings": [{"exit": 1}]})
    with pytest.raises(RunnerFailed, match="^do embedding request: .+"):
        await runner.embed("x")


async def test_documents_are_scored_in_their_order(scripted: ScriptedEngine, load: Load) -> None:
    runner = await load(facts={"architecture": "bert", "pooling_type": RANK_POOLING})
    assert await runner.rerank("owls hunt", ["bread", "owls hunt"]) == Ranking((0.0, 2.0), 18)
    assert scripted.requests("/v1/rerank") == [{"query": "owls hunt", "documents": ["bread", "owls hunt"]}]


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (
            {"status": 500, "json": {"error": {"message": "input (204 tokens) is too large to process."}}},
            EngineRefused,
            "^query and document together exceed the context length$",
        ),
        ({"status": 501, "json": {"error": {"message": "no reranking"}}}, EngineRefused, "^no reranking$"),
        ({"status": 200, "json": {"results": []}}, RunnerFailed, "^unmarshal rerank response: .+"),
        ({"status": 200, "body": "x"}, RunnerFailed, "^unmarshal rerank response: .+"),
        ({"exit": 1}, RunnerFailed, "^do rerank request: .+"),
    ],
)
async def test_failures_to_rank_are_told(
    scripted: ScriptedEngine, load: Load, answer: dict[str, Any], error: type[Exception], text: str
) -> None:
    runner = await load(facts={"architecture": "bert", "pooling_type": RANK_POOLING})
    scripted.script(answers={"/v1/rerank": [answer]})
    with pytest.raises(error, match=text):
        await runner.rerank("q", ["d"])
