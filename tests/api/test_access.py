"""Who is let in when API keys are wanted."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from orchestrator.api.access import Access, UnusableApiKeys
from orchestrator.api.anthropic.routes import anthropic_routes
from orchestrator.api.openai.routes import openai_routes
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from tests.api.conftest import Client, serving

MISSING = (
    "this server wants an API key: send one as 'Authorization: Bearer KEY' or 'X-Api-Key: KEY' "
    "(command line: set OLLAMA_API_KEY)"
)
UNKNOWN = MISSING.replace("this server wants an API key", "the API key is not one that this server knows")


@pytest.fixture
async def locked(state: AppState) -> AsyncIterator[Client]:
    """A client of a server that knows one key."""
    state = replace(state, access=Access(["anna secret"]))
    async with serving(state, *openai_routes(state), *anthropic_routes(state)) as client:
        yield client


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer secret"},
        {"authorization": "bearer   secret "},
        {"X-Api-Key": "secret"},
        {"Authorization": "Basic eDp5", "x-api-key": "secret"},
        {"Authorization": "Bearer ", "x-api-key": "secret"},
    ],
)
async def test_a_key_opens_the_server(locked: Client, headers: dict[str, str]) -> None:
    async with locked.get("/api/version", headers=headers) as reply:
        assert reply.status == 200


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, MISSING),
        ({"Authorization": "Bearer"}, MISSING),
        ({"Authorization": "Basic c2VjcmV0"}, MISSING),
        ({"Authorization": "secret"}, MISSING),
        ({"Authorization": "Bearer anna"}, UNKNOWN),
        ({"Authorization": "Bearer secret2"}, UNKNOWN),
        ({"Authorization": "Bearer wrong", "X-Api-Key": "secret"}, UNKNOWN),
        ({"X-Api-Key": "Bearer secret"}, UNKNOWN),
    ],
)
async def test_nobody_else_is_let_in(locked: Client, headers: dict[str, str], words: str) -> None:
    async with locked.get("/api/version", headers=headers) as reply:
        assert reply.status == 401
        assert reply.headers["WWW-Authenticate"] == 'Bearer realm="orch"'
        assert await reply.json() == {"error": words}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_anybody_may_see_that_the_server_is_up(locked: Client, method: str) -> None:
    async with locked.request(method, "/") as reply:
        assert reply.status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/chat"),
        ("POST", "/api/blobs/sha256:" + "0" * 64),
        ("GET", "/api/chat"),
        ("GET", "/api/nothing"),
        ("GET", "/metrics"),
        ("DELETE", "/api/delete"),
        ("OPTIONS", "/api/tags"),
    ],
)
async def test_nothing_else_is_told_without_a_key(locked: Client, method: str, path: str) -> None:
    async with locked.request(method, path) as reply:
        assert reply.status == 401


async def test_each_dialect_refuses_in_its_own_form(locked: Client) -> None:
    async with locked.post("/v1/chat/completions", json={}) as reply:
        error = {"message": MISSING, "type": "api_error", "param": None, "code": None}
        assert (reply.status, await reply.json()) == (401, {"error": error})
    async with locked.post("/v1/messages/count_tokens", json={}) as reply:
        told = await reply.json()
        assert (reply.status, told["type"]) == (401, "error")
        assert told["error"] == {"type": "authentication_error", "message": MISSING}


async def test_a_page_may_ask_what_is_allowed_and_read_the_refusal(locked: Client) -> None:
    page = {"Origin": "http://localhost:3000"}
    asked = page | {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    async with locked.options("/api/chat", headers=asked) as reply:
        assert reply.status == 204
    async with locked.get("/api/tags", headers=page) as reply:
        assert reply.status == 401
        assert reply.headers["Access-Control-Allow-Origin"] in ("*", page["Origin"])


async def test_a_body_is_not_taken_from_strangers(state: AppState) -> None:
    """The refusal comes in place of ``100 Continue``."""

    async def never(request: web.Request) -> web.StreamResponse:
        raise AssertionError("a stranger has come through")

    state = replace(state, access=Access(["secret"]))
    async with (
        serving(state, Route("POST", "/never", never)) as client,
        client.post("/never", data=b"x" * 100, expect100=True) as reply,
    ):
        assert reply.status == 401


async def test_the_log_names_who_asked(locked: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with locked.get("/api/tags", headers={"X-Api-Key": "secret"}):
            pass
        async with locked.get("/api/ps"):
            pass
    told = [record.__dict__ for record in caplog.records if record.getMessage() == "request"]
    assert [(line["path"], line.get("user")) for line in told] == [("/api/tags", "anna"), ("/api/ps", None)]
    assert "secret" not in caplog.text


class TestFile:
    """``ORCH_API_KEYS_FILE``."""

    def test_keys_come_and_go_with_it(self, tmp_path: Path) -> None:
        file = tmp_path / "keys"
        file.write_text("anna one\n")
        access = Access(["own zero"], file)
        assert [access.user({"X-Api-Key": key}) for key in ("zero", "one")] == ["own", "anna"]
        file.write_text("# moved\nbert two\n")
        assert [access.user({"X-Api-Key": key}) for key in ("zero", "two")] == ["own", "bert"]
        with pytest.raises(Exception, match="not one that this server knows"):
            access.user({"X-Api-Key": "one"})

    @pytest.mark.parametrize("content", [None, b"\xff\xfe", b"too many words here\n"])
    def test_a_slip_changes_nothing(
        self, tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        file = tmp_path / "keys"
        file.write_text("anna one\n")
        access = Access((), file)
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        for _ in range(3):
            assert access.user({"X-Api-Key": "one"}) == "anna"
        assert [record.levelname for record in caplog.records] == ["ERROR"]

    def test_all_keys_can_be_taken_away(self, tmp_path: Path) -> None:
        file = tmp_path / "keys"
        file.write_text("anna one\n")
        access = Access((), file)
        file.write_text("# nobody\n")
        with pytest.raises(Exception, match="not one that this server knows"):
            access.user({"X-Api-Key": "one"})

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (None, "no such file or directory"),
            (b"\xff", "it is not UTF-8"),
            (b"# nobody yet\n", "holds no key"),
            (b"one two three\n", "entry 1 has 3 words"),
        ],
    )
    def test_a_start_without_keys_is_refused(
        self, tmp_path: Path, content: bytes | None, problem: str
    ) -> None:
        file = tmp_path / "keys"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(UnusableApiKeys, match=problem):
            Access((), file)


def test_a_variable_without_keys_is_refused() -> None:
    with pytest.raises(UnusableApiKeys, match="ORCH_API_KEYS holds no key"):
        Access(["#"])
