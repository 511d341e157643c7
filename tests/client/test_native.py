"""The client of the native API, against a small server that answers what it is told."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from orchestrator.client.errors import ApiError, ServerUnreachable, SignInNeeded
from orchestrator.client.native import NativeClient

T = TypeVar("T")


class Recorder:
    """Answers every request alike and remembers what was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b"{}"
        self.asked: list[tuple[str, str, bytes]] = []
        self.headers: list[dict[str, str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.method, request.path, await request.read()))
        self.headers.append(dict(request.headers))
        return web.Response(status=self.status, body=self.body)

    def will_say(self, *records: Any, status: int = 200) -> None:
        self.status = status
        self.body = b"".join(json.dumps(record).encode() + b"\n" for record in records)

    def question(self) -> tuple[str, str, Any]:
        method, path, body = self.asked[-1]
        return method, path, json.loads(body) if body else None


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


Ask = Callable[[Callable[[NativeClient], T]], Awaitable[T]]


@pytest.fixture
async def ask(recorder: Recorder) -> AsyncIterator[Ask[Any]]:
    """Run one call of a client in a thread, as the client blocks."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", recorder.answer)
    async with TestServer(app) as server:

        def call(question: Callable[[NativeClient], T]) -> T:
            with NativeClient(str(server.make_url("/"))) as native:
                return question(native)

        async def in_thread(question: Callable[[NativeClient], T]) -> T:
            return await asyncio.to_thread(call, question)

        yield in_thread


async def test_a_heartbeat_is_a_head_request(ask: Ask[None], recorder: Recorder) -> None:
    await ask(NativeClient.heartbeat)
    assert recorder.question() == ("HEAD", "/", None)
    assert recorder.headers[-1]["User-Agent"].startswith("orch/")


async def test_models_come_in_the_servers_order(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"models": [{"name": "b"}, {"name": "a"}]})
    assert [model["name"] for model in await ask(NativeClient.models)] == ["b", "a"]
    assert recorder.question() == ("GET", "/api/tags", None)


async def test_no_models_is_an_empty_list(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"models": None})
    assert await ask(NativeClient.running) == []


async def test_show_names_the_model(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"template": "x"})
    assert await ask(lambda native: native.show("m", verbose=True)) == {"template": "x"}
    assert recorder.question() == ("POST", "/api/show", {"model": "m", "verbose": True})


async def test_delete_names_the_model(ask: Ask[None], recorder: Recorder) -> None:
    recorder.body = b""
    await ask(lambda native: native.delete("m"))
    assert recorder.question() == ("DELETE", "/api/delete", {"model": "m"})


async def test_signing_out_bears_a_null(ask: Ask[None], recorder: Recorder) -> None:
    recorder.will_say(None)
    await ask(NativeClient.sign_out)
    assert recorder.question() == ("POST", "/api/signout", None)


async def test_a_stream_gives_its_records(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"response": "a"}, {"response": "b", "done": True})
    chunks = await ask(lambda native: list(native.generate({"model": "m"})))
    assert [chunk["response"] for chunk in chunks] == ["a", "b"]
    assert recorder.headers[-1]["Accept"] == "application/x-ndjson"


async def test_loading_says_only_what_was_asked_for(ask: Ask[None], recorder: Recorder) -> None:
    recorder.will_say({"done": True})
    await ask(lambda native: native.load("m", keep_alive="0s"))
    assert recorder.question() == ("POST", "/api/generate", {"model": "m", "keep_alive": "0s"})


async def test_an_error_is_the_servers_text(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"error": "model 'm' not found"}, status=404)
    with pytest.raises(ApiError, match="^model 'm' not found$") as caught:
        await ask(lambda native: native.show("m"))
    assert caught.value.status == 404


async def test_an_error_without_json_is_its_body(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.status, recorder.body = 502, b"bad gateway\n"
    with pytest.raises(ApiError, match="^bad gateway$"):
        await ask(NativeClient.models)


async def test_an_error_without_a_body_points_to_the_logs(ask: Ask[None], recorder: Recorder) -> None:
    recorder.status = 404
    with pytest.raises(ApiError, match="^something went wrong, please see the orch server logs for details$"):
        await ask(NativeClient.heartbeat)


async def test_a_stream_that_does_not_begin_tells_the_status(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"error": "model 'm' not found"}, status=404)
    with pytest.raises(ApiError, match="^404 Not Found: model 'm' not found$"):
        await ask(lambda native: list(native.chat({"model": "m"})))


async def test_an_error_inside_a_stream_is_its_bare_text(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"status": "pulling manifest"}, {"error": "file does not exist"})

    def statuses(native: NativeClient) -> list[str]:
        events = native.pull("m", insecure=False)
        seen = [next(events)["status"]]
        with pytest.raises(ApiError, match="^file does not exist$"):
            next(events)
        return seen

    assert await ask(statuses) == ["pulling manifest"]


async def test_a_missing_account_comes_with_the_place_to_sign_in(ask: Ask[Any], recorder: Recorder) -> None:
    recorder.will_say({"error": "unauthorized", "signin_url": "https://example.org/in"}, status=401)
    with pytest.raises(SignInNeeded) as caught:
        await ask(NativeClient.me)
    assert caught.value.url == "https://example.org/in"


@pytest.mark.parametrize(("status", "there"), [(200, True), (404, False)])
async def test_a_blob_is_there_or_not(ask: Ask[bool], recorder: Recorder, status: int, there: bool) -> None:
    recorder.status = status
    assert await ask(lambda native: native.has_blob("sha256:00")) is there
    assert recorder.question()[:2] == ("HEAD", "/api/blobs/sha256:00")


async def test_other_answers_about_a_blob_are_errors(ask: Ask[bool], recorder: Recorder) -> None:
    recorder.status = 500
    with pytest.raises(ApiError):
        await ask(lambda native: native.has_blob("sha256:00"))


async def test_a_blob_is_sent_piece_by_piece(ask: Ask[None], recorder: Recorder) -> None:
    await ask(lambda native: native.upload_blob("sha256:00", iter([b"one", b"two"])))
    assert recorder.asked[-1] == ("POST", "/api/blobs/sha256:00", b"onetwo")


def test_a_refused_connection_is_told_from_others() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with NativeClient(f"http://127.0.0.1:{port}") as native, pytest.raises(ServerUnreachable) as caught:
        native.heartbeat()
    assert caught.value.refused
    assert str(caught.value).startswith(f'Head "http://127.0.0.1:{port}/": ')


async def test_a_server_without_tls_is_not_a_refusal(ask: Ask[None], recorder: Recorder) -> None:
    def with_tls(native: NativeClient) -> None:
        with NativeClient(str(native.base_url).replace("http:", "https:")) as other:
            other.heartbeat()

    with pytest.raises(ServerUnreachable) as caught:
        await ask(with_tls)
    assert not caught.value.refused


async def test_a_path_of_the_base_url_is_kept(ask: Ask[None], recorder: Recorder) -> None:
    def below(native: NativeClient) -> None:
        with NativeClient(f"{native.base_url}below") as other:
            other.version()

    recorder.will_say({"version": "1"})
    await ask(below)
    assert recorder.question()[1] == "/below/api/version"
