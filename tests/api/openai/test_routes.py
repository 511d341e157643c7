"""The routes over HTTP, as far as they answer without an engine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from orchestrator.api.openai.routes import openai_routes
from orchestrator.api.state import AppState
from tests.api.conftest import Client, serving

POSTED = ("chat/completions", "completions", "embeddings", "responses", "audio/transcriptions")


@pytest.fixture
async def client(state: AppState) -> AsyncIterator[Client]:
    async with serving(state, *openai_routes(state)) as client:
        yield client


async def refusal(client: Client, path: str, **members: Any) -> tuple[int, str, str]:
    """Status, type and message of an error."""
    async with client.post(f"/v1/{path}", **members) as response:
        body = await response.json()
        assert body["error"].keys() - {"advice"} == {"message", "type", "param", "code"}
        return response.status, body["error"]["type"], body["error"]["message"]


@pytest.mark.parametrize("path", POSTED)
async def test_other_methods_are_not_allowed(client: Client, path: str) -> None:
    async with client.get(f"/v1/{path}") as response:
        assert (response.status, response.headers["Allow"]) == (405, "POST")
    async with client.head(f"/v1/{path}") as response:
        assert response.status == 405


@pytest.mark.parametrize("path", POSTED[:-1])
async def test_a_body_is_needed_and_has_to_be_json(client: Client, path: str) -> None:
    assert await refusal(client, path) == (400, "invalid_request_error", "EOF")
    status, kind, _ = await refusal(client, path, data=b"hello")
    assert (status, kind) == (400, "invalid_request_error")


async def test_unknown_models_are_not_found_in_this_dialect(client: Client) -> None:
    message = "model 'absent' not found"
    chat = {"model": "absent", "messages": [{"role": "user", "content": "x"}]}
    for stream in (False, True):
        found = await refusal(client, "chat/completions", json=chat | {"stream": stream})
        assert found == (404, "not_found_error", message)
        found = await refusal(client, "responses", json={"model": "absent", "input": "x", "stream": stream})
        assert found == (404, "not_found_error", message)
    async with client.get("/v1/models/absent") as response:
        assert (response.status, response.content_type) == (404, "application/json")
        assert (await response.json())["error"]["message"] == "model 'absent:latest' not found"


@pytest.mark.parametrize(
    ("model", "texts", "told"),
    [
        ("a@b", [], (400, "invalid_request_error", "invalid input")),
        ("a@b", 5, (400, "invalid_request_error", "invalid model name")),
        ("", 5, (404, "not_found_error", "model '' not found")),
        ("absent", 5, (400, "invalid_request_error", "invalid input type")),
        ("absent", "x", (404, "not_found_error", 'model "absent" not found, try pulling it first')),
    ],
)
async def test_names_are_looked_at_before_texts_and_looked_up_after(
    client: Client, model: str, texts: Any, told: Any
) -> None:
    assert await refusal(client, "embeddings", json={"model": model, "input": texts}) == told


async def test_there_may_be_no_models(client: Client) -> None:
    async with client.get("/v1/models") as response:
        assert await response.json() == {"object": "list", "data": None}


async def test_models_of_the_cloud_are_refused_before_any_dialect_is_spoken(client: Client) -> None:
    body = {"model": "big:cloud", "messages": [{"role": "user", "content": "x"}]}
    async with client.post("/v1/chat/completions", json=body) as response:
        assert response.status == 403
        assert isinstance((await response.json())["error"], str)


async def test_a_response_that_is_not_kept_cannot_be_followed(client: Client) -> None:  # case B071
    body = {"model": "m", "input": "x", "previous_response_id": "resp_1"}
    status, kind, message = await refusal(client, "responses", json=body)
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith("previous response 'resp_1' not found")


def form(**fields: str | bytes) -> aiohttp.FormData:
    """A form; bytes are files."""
    data = aiohttp.FormData(default_to_multipart=True)
    for name, value in fields.items():
        data.add_field(name, value, filename="a.wav" if isinstance(value, bytes) else None)
    return data


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"file": b"RIFF"}, "model is required"),
        ({"model": "m"}, "file is required: http: no such file"),
        ({"model": "m", "file": "no file"}, "file is required: http: no such file"),
        ({"model": "m", "file": b""}, "audio file is empty"),
        (
            {"model": "m", "file": b"RIFF", "response_format": "srt"},
            "'response_format' must be 'json' or 'text'",
        ),
        ({"model": "m", "file": b"RIFF", "stream": "true"}, "'stream' is not supported"),
        ({"model": "m", "file": b"RIFF"}, "model 'm' not found"),
    ],
)
async def test_a_form_without_a_recording_is_refused(client: Client, fields: Any, message: str) -> None:
    _, _, found = await refusal(client, "audio/transcriptions", data=form(**fields))
    assert found.startswith(message)


async def test_a_recording_comes_in_a_form(client: Client) -> None:
    found = await refusal(client, "audio/transcriptions", data=json.dumps({"model": "m"}))
    assert found[2] == "failed to parse multipart form: request Content-Type isn't multipart/form-data"
    headers = {"Content-Type": "multipart/form-data; boundary=B"}
    found = await refusal(client, "audio/transcriptions", data=b"--C\r\nnothing", headers=headers)
    assert found[0] == 400
    assert found[2].startswith("failed to parse multipart form: ")
