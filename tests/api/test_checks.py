"""Which of several faults of a request is told: the order of checks is Ollama's (``api-native`` §9.2–9.4)."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName
from tests.api.conftest import Client, serving
from tests.api.test_models import DIGEST, made, sent
from tests.gguf_builder import Tensor, Typed, build_gguf

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}
PROJECTOR = build_gguf(
    {"general.architecture": "clip", "clip.has_vision_encoder": Typed("bool", True)},
    [Tensor("v.weight", (32,))],
)
EMBEDDER = build_gguf(
    {
        "general.architecture": "bert",
        "bert.block_count": Typed("u32", 1),
        "bert.pooling_type": Typed("u32", 1),
    },
    [Tensor("token_embd.weight", (32, 4))],
)

NOT_FOUND = (404, "model '' not found")
INVALID_NAME = (400, "invalid model name")
CLOUD = (403, "ollama cloud is disabled: remote model is unavailable")
INVALID_INPUT = (400, "invalid input type")
REPLACED = (500, "'llama3.2-vision' is no longer compatible")


async def uploaded(client: Client, content: bytes) -> str:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    async with client.post(f"/api/blobs/{digest}", data=content) as reply:
        assert reply.status in (200, 201)
    return digest


@pytest.fixture
async def models(client: Client) -> Client:
    """A client of a server with ``owlet``, ``petal``, which embeds, and ``relic``, of a dead format."""
    await made(client)
    await made(client, model="petal", files={"petal.gguf": await uploaded(client, EMBEDDER)})
    files = {"owlet.gguf": DIGEST, "mmproj.gguf": await uploaded(client, PROJECTOR)}
    await made(client, model="relic", files=files, info={"model_family": "mllama"})
    return client


async def fault(client: Client, path: str, **body: Any) -> tuple[int, str]:
    status, reply = await sent(client, "POST", path, body)
    return status, reply["error"]


@pytest.mark.parametrize(
    ("model", "told"),
    [("", NOT_FOUND), ("a b", INVALID_NAME), ("x:cloud", CLOUD), ("absent", INVALID_INPUT)],
)
async def test_the_input_of_embed_is_looked_at_between_the_name_and_the_store(
    models: Client, model: str, told: tuple[int, str]
) -> None:
    assert await fault(models, "/api/embed", model=model, input=5) == told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"model": "petal", "think": True, "tools": [TOOL]}, '"petal" does not support thinking'),
        ({"model": "petal", "tools": [TOOL]}, '"petal" does not support chat'),
        ({"model": " petal\t"}, r'" petal\t" does not support chat'),
        ({"model": "owlet", "think": "low", "tools": [TOOL]}, '"owlet" does not support thinking'),
        (
            {"model": "owlet", "tools": [TOOL], "options": {"top_k": "x"}},
            "registry.ollama.ai/library/owlet:latest does not support tools",
        ),
        ({"model": "relic", "think": True, "tools": [TOOL]}, '"relic" does not support thinking'),
        ({"model": "absent", "think": True, "top_logprobs": 21}, "top_logprobs must be between 0 and 20"),
    ],
)
async def test_of_several_faults_of_a_chat_the_first_is_told(
    models: Client, body: dict[str, Any], told: str
) -> None:
    status, error = await fault(models, "/api/chat", messages=[USER], **body)
    assert (status, error) == (400, told)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"model": "petal", "raw": True, "system": "x", "think": True}, "raw mode does not support template"),
        ({"model": "petal", "think": True, "suffix": "x"}, '"petal" does not support thinking'),
        ({"model": "petal", "suffix": "x"}, '"petal" does not support generate'),
        ({"model": "owlet", "suffix": "x", "options": {"top_k": "x"}}, "registry.ollama.ai/library/owlet"),
        ({"model": "absent", "raw": True, "system": "x", "top_logprobs": -1}, "top_logprobs must be"),
    ],
)
async def test_of_several_faults_of_a_prompt_the_first_is_told(
    models: Client, body: dict[str, Any], told: str
) -> None:
    status, error = await fault(models, "/api/generate", prompt="x", **body)
    assert (status, error[: len(told)]) == (400, told)


@pytest.mark.parametrize(
    ("path", "wish"),
    [
        ("/api/chat", {"messages": [USER], "tools": [TOOL]}),
        ("/api/chat", {}),
        ("/api/generate", {"prompt": "x", "suffix": "y"}),
        ("/api/embed", {"input": "x"}),
        ("/api/embeddings", {"prompt": "x"}),
    ],
)
async def test_a_dead_format_is_told_before_what_the_model_cannot_do(
    models: Client, path: str, wish: dict[str, Any]
) -> None:
    status, error = await fault(models, path, model="relic", options={"top_k": "x"}, **wish)
    assert (status, error[: len(REPLACED[1])]) == REPLACED


async def test_unloading_asks_for_nothing_but_the_model(models: Client, state: AppState) -> None:
    for path, wish in (("/api/chat", {"tools": [TOOL]}), ("/api/generate", {"raw": True, "system": "x"})):
        body = {"model": "petal", "keep_alive": 0, "think": True, "options": {"top_k": "x"}} | wish
        status, reply = await sent(models, "POST", path, body)
        assert (status, reply["done_reason"]) == (200, "unload")
    assert state.scheduler.loaded() == ()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("path", "wish"), [("/api/chat", {"messages": [USER]}), ("/api/generate", {"prompt": "x"})]
)
async def test_a_load_that_fails_is_told_as_json_whether_or_not_a_stream_was_wanted(
    models: Client, path: str, wish: dict[str, Any], stream: bool
) -> None:
    body = {"model": "owlet", "stream": stream, **wish}
    async with models.post(path, json=body) as reply:
        assert (reply.status, await reply.json()) == (500, {"error": "no engine here"})
        assert reply.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("part", ["weights", "configuration"])
@pytest.mark.parametrize(
    ("path", "wish"),
    [
        ("/api/chat", {"messages": [USER]}),
        ("/api/generate", {"prompt": "x"}),
        ("/api/embed", {"input": "x"}),
        ("/api/embeddings", {"prompt": "x"}),
    ],
)
async def test_a_model_without_one_of_its_files_has_to_be_pulled(
    models: Client,
    state: AppState,
    path: str,
    wish: dict[str, Any],
    part: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stored = await asyncio.to_thread(state.models.manifests.read, ModelName.parse("petal"))
    layer = stored.manifest.layers[0] if part == "weights" else stored.manifest.config
    gone = state.models.layout.blobs / layer.digest.replace(":", "-")
    gone.unlink()
    with caplog.at_level("INFO"):
        told = await fault(models, path, model="petal", **wish)
    assert told == (404, 'model "petal" not found, try pulling it first')
    assert str(gone) in caplog.text


REMOTE = (400, "this server cannot run this remote model")


@pytest.mark.parametrize(
    ("host", "cloud_disabled", "told"),
    [
        ("http://example.com:1234", False, REMOTE),
        ("http://example.com:1234", True, CLOUD),
        ("https://ollama.com", False, CLOUD),
        ("http://[::1]:1234/path", False, REMOTE),
    ],
)
@pytest.mark.parametrize(
    ("path", "wish"), [("/api/chat", {"messages": [USER], "think": True}), ("/api/generate", {"prompt": "x"})]
)
async def test_a_stub_is_refused_for_its_host_unless_the_cloud_is_anyway(
    state: AppState, host: str, cloud_disabled: bool, told: tuple[int, str], path: str, wish: dict[str, Any]
) -> None:
    inference = replace(state.inference, cloud_disabled=cloud_disabled)
    async with serving(replace(state, make_inference=lambda: inference)) as client:
        body = {"model": "stub", "from": "faraway", "remote_host": host, "stream": False}
        assert (await sent(client, "POST", "/api/create", body))[0] == 200
        assert await fault(client, path, model="stub", **wish) == told


@pytest.mark.parametrize("model", [":cloud", "a b:cloud", "-x:1b-cloud", "m@x:cloud", "a//b:cloud"])
@pytest.mark.parametrize(
    "path", ["/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/show", "/api/pull"]
)
async def test_what_is_no_name_is_told_before_where_it_would_be(
    models: Client, path: str, model: str
) -> None:
    assert await fault(models, path, model=model) == INVALID_NAME
