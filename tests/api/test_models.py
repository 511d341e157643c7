"""The models there are, over HTTP: upload, create, list, show, copy, delete."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName
from orchestrator.modelfile.commands import Keyword
from orchestrator.modelfile.parser import parse_modelfile
from orchestrator.store.canonical import canonical_json
from orchestrator.store.wire import Layer, Manifest, MediaType, ModelConfig
from tests.api.conftest import Client, serving
from tests.gguf_builder import Tensor, Typed, build_gguf

GGUF = build_gguf(
    {
        "general.architecture": "llama",
        "general.name": "hidden",
        "general.file_type": Typed("u32", 1),
        "general.quantization_version": Typed("u32", 2),
        "llama.block_count": Typed("u32", 1),
        "llama.context_length": Typed("u32", 512),
        "llama.embedding_length": Typed("u32", 64),
        "llama.attention.layer_norm_rms_epsilon": Typed("f32", 1e-5),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": Typed("arr:str", ["<s>", "a"]),
        "tokenizer.ggml.merges": Typed("arr:str", []),
    },
    [Tensor("token_embd.weight", (32, 4), "F16"), Tensor("output_norm.weight", (32,))],
)
DIGEST = f"sha256:{hashlib.sha256(GGUF).hexdigest()}"


async def made(client: Client, **members: Any) -> None:
    """A model ``owlet`` of the small file."""
    async with client.post(f"/api/blobs/{DIGEST}", data=GGUF) as reply:
        assert reply.status in (200, 201)
    body = {"model": "owlet", "files": {"owlet.gguf": DIGEST}, "stream": False} | members
    async with client.post("/api/create", json=body) as reply:
        assert (reply.status, await reply.json()) == (200, {"status": "success"})
        assert reply.headers["Content-Type"] == "application/json"


def made_files(state: AppState) -> list[Path]:
    """All blobs but the one that was uploaded."""
    uploaded = f"sha256-{DIGEST[7:]}"
    return [path for path in state.models.layout.blobs.iterdir() if path.name != uploaded]


async def sent(client: Client, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and JSON of one request; no JSON is the empty text."""
    async with client.request(method, path, json=body) as reply:
        text = await reply.text()
        return reply.status, json.loads(text) if text else ""


# blobs


async def test_a_blob_is_stored_once_and_found(client: Client) -> None:
    for status in (201, 200):
        async with client.post(f"/api/blobs/{DIGEST}", data=GGUF) as reply:
            assert (reply.status, await reply.read()) == (status, b"")
    async with client.head(f"/api/blobs/{DIGEST}") as reply:
        assert reply.status == 200
    async with client.head(f"/api/blobs/{DIGEST.replace(':', '-')}") as reply:
        assert reply.status == 200


async def test_a_blob_larger_than_the_limit_of_bodies_is_stored(client: Client, state: AppState) -> None:
    content = bytes(state.max_body_bytes + 1)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    async with client.post(f"/api/blobs/{digest}", data=BytesIO(content)) as reply:
        assert reply.status == 201


async def test_content_that_is_not_its_digest_is_refused(client: Client) -> None:
    wrong = f"sha256:{'5' * 64}"
    status, body = await sent(client, "POST", f"/api/blobs/{wrong}", "x")
    actual = hashlib.sha256(b'"x"').hexdigest()
    assert (status, body) == (400, {"error": f'digest mismatch, expected "{wrong}", got "sha256:{actual}"'})
    async with client.head(f"/api/blobs/{wrong}") as reply:
        assert reply.status == 404


@pytest.mark.parametrize("text", ["sha256:xyz", "md5:22", f"SHA256:{'1' * 64}", "x"])
async def test_what_is_no_digest_is_refused(client: Client, text: str) -> None:
    assert await sent(client, "POST", f"/api/blobs/{text}", "x") == (400, {"error": "invalid digest format"})
    async with client.head(f"/api/blobs/{text}") as reply:
        assert reply.status == 400


async def test_an_upload_that_breaks_off_leaves_nothing(client: Client, state: AppState) -> None:
    async def half() -> Any:
        yield GGUF[: len(GGUF) // 2]
        raise ConnectionResetError

    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the client makes of its own fault
        await client.post(f"/api/blobs/{DIGEST}", data=half())
    await client.close()
    assert [path for path in state.models.layout.blobs.iterdir() if path.stat().st_size] == []


# create


async def test_progress_is_told_line_by_line(client: Client) -> None:
    await made(client)
    async with client.post("/api/create", json={"model": "copycat", "from": "owlet"}) as reply:
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/x-ndjson"
        assert reply.headers["Transfer-Encoding"] == "chunked"
        lines = [json.loads(line) for line in (await reply.text()).splitlines()]
    assert [line["status"].split(" sha256")[0] for line in lines] == [
        "using existing layer",
        "writing manifest",
        "success",
    ]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("members", "status", "message", "charset"),
    [
        ({"model": "a@b", "from": "owlet"}, 400, "invalid model name", True),
        ({"files": {"/a.gguf": DIGEST}}, 400, "file path must be relative", True),
        ({"files": {"a.gguf": ""}}, 400, "invalid digest format", True),
        ({"from": "owlet", "draft_quantize": "q8_0"}, 400, "--draft-quantize requires a DRAFT model", True),
        ({}, 400, "neither 'from' or 'files' was specified", False),
        ({"from": "a@b"}, 400, "invalid model name", False),
        ({"from": "owlet", "info": {"base_name": 1}}, 400, 'info field "base_name" must be a string', False),
        ({"from": "owlet", "template": "{{ .Prompt"}, 400, "template error: ", False),
    ],
)
async def test_a_wrong_request_has_its_own_status_before_any_line(
    client: Client, members: dict[str, Any], status: int, message: str, charset: bool, stream: bool
) -> None:
    await made(client)
    body = {"model": "made", "stream": stream} | members
    async with client.post("/api/create", json=body) as reply:
        assert reply.status == status
        assert (await reply.json())["error"].startswith(message)
        assert ("charset" in reply.headers["Content-Type"]) is charset


async def test_a_failure_after_the_first_line_is_the_last_line(client: Client) -> None:
    body = {"model": "made", "files": {"a.gguf": f"sha256:{'1' * 64}"}}
    async with client.post("/api/create", json=body) as reply:
        assert reply.status == 200
        first, last = [json.loads(line) for line in (await reply.text()).splitlines()]
    assert first == {"status": "parsing GGUF"}
    assert last["error"].endswith("no such file or directory")


# list


async def test_an_empty_store_lists_nothing(client: Client) -> None:
    assert await sent(client, "GET", "/api/tags") == (200, {"models": []})


async def test_models_are_listed_newest_first(client: Client, state: AppState) -> None:
    for name, seconds in (("older", 1_700_000_000), ("newer", 1_800_000_000)):
        await made(client, model=name)
        path = next(state.models.layout.manifests.glob(f"*/*/{name}/latest"))
        os.utime(path, (seconds, seconds))
    _, body = await sent(client, "GET", "/api/tags")
    assert [model["name"] for model in body["models"]] == ["newer:latest", "older:latest"]
    entry = body["models"][0]
    assert list(entry) == [
        *("name", "model", "modified_at", "size", "digest", "details", "capabilities"),
    ]
    assert entry["modified_at"].startswith("2027-01-15T")
    assert len(entry["digest"]) == 64
    assert entry["details"] == {
        "parent_model": "",
        "format": "gguf",
        "family": "llama",
        "families": ["llama"],
        "parameter_size": "160",
        "quantization_level": "F16",
        "context_length": 512,
        "embedding_length": 64,
    }
    assert entry["capabilities"] == ["completion"]


async def test_head_of_the_list_has_no_body(client: Client) -> None:
    async with client.head("/api/tags") as reply:
        assert (reply.status, await reply.read()) == (200, b"")
        assert reply.headers["Content-Type"] == "application/json; charset=utf-8"


async def test_a_damaged_model_is_listed_as_such(client: Client, state: AppState) -> None:
    """Case B144."""
    await made(client)
    for path in state.models.layout.blobs.iterdir():
        if path.read_bytes().startswith(b"GGUF"):
            path.write_bytes(b"GGUF damaged")
    _, body = await sent(client, "GET", "/api/tags")
    assert "malformed" in body["models"][0]["damage"]


# show


async def test_a_model_is_shown(client: Client, state: AppState) -> None:
    await made(
        client,
        system="You are an owl.",
        license=["Free.", "As in air."],
        parameters={"stop": ["<a>", "b"], "temperature": 0.7, "num_ctx": 4096, "seed": 2_000_000},
        messages=[{"role": "user", "content": "a\nb"}, {"role": "assistant", "content": "Hoo"}],
        template="{{ .Prompt }}!",
    )
    status, body = await sent(client, "POST", "/api/show", {"model": "OWLET"})
    assert status == 200
    weights = next(path for path in made_files(state) if path.read_bytes().startswith(b"GGUF"))
    assert body.pop("modelfile") == (
        '# Modelfile generated by "ollama show"\n'
        "# To build a new Modelfile based on this, replace FROM with:\n"
        "# FROM owlet:latest\n"
        "\n"
        f"FROM {weights}\n"
        "TEMPLATE {{ .Prompt }}!\n"
        "SYSTEM You are an owl.\n"
        "PARAMETER num_ctx 4096\n"
        "PARAMETER seed 2000000\n"
        "PARAMETER stop <a>\n"
        "PARAMETER stop b\n"
        "PARAMETER temperature 0.7\n"
        "LICENSE Free.\n"
        "LICENSE As in air.\n"
        'MESSAGE user "a\nb"\n'
        "MESSAGE assistant Hoo\n"
    )
    assert body.pop("modified_at")
    assert body == {
        "license": "Free.\nAs in air.",
        "parameters": (
            "num_ctx                        4096\n"
            "seed                           2e+06\n"
            'stop                           "<a>"\n'
            'stop                           "b"\n'
            "temperature                    0.7"
        ),
        "template": "{{ .Prompt }}!",
        "system": "You are an owl.",
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "llama",
            "families": ["llama"],
            "parameter_size": "160",
            "quantization_level": "F16",
        },
        "messages": [{"role": "user", "content": "a\nb"}, {"role": "assistant", "content": "Hoo"}],
        "model_info": {
            "general.architecture": "llama",
            "general.file_type": 1,
            "general.parameter_count": 160,
            "general.quantization_version": 2,
            "llama.attention.layer_norm_rms_epsilon": 1e-05,
            "llama.block_count": 1,
            "llama.context_length": 512,
            "llama.embedding_length": 64,
            "tokenizer.ggml.merges": [],
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": None,
        },
        "tensors": [
            {"name": "output_norm.weight", "type": "F32", "shape": [32]},
            {"name": "token_embd.weight", "type": "F16", "shape": [32, 4]},
        ],
        "capabilities": ["completion"],
    }


async def test_verbose_shows_the_vocabulary(client: Client) -> None:
    await made(client)
    _, body = await sent(client, "POST", "/api/show", {"name": "owlet", "verbose": True})
    assert body["model_info"]["tokenizer.ggml.tokens"] == ["<s>", "a"]


async def test_options_and_system_of_the_request_are_shown_in_the_modelfile(client: Client) -> None:
    await made(client, system="old", parameters={"stop": ["x"], "top_k": 2})
    request = {"model": "owlet", "system": "new", "options": {"stop": ["Q"]}, "template": "ignored"}
    _, body = await sent(client, "POST", "/api/show", request)
    assert "SYSTEM new\nPARAMETER stop Q\nPARAMETER top_k 2\n" in body["modelfile"]
    assert body["system"] == "new"
    assert '"x"' in body["parameters"]
    assert body["template"] == "{{ .Prompt }}"


async def test_large_whole_numbers_can_be_read_back_from_the_modelfile(client: Client) -> None:
    await made(client, parameters={"seed": 123456789, "num_ctx": 1000000, "use_mmap": True, "top_p": 0.25})
    _, body = await sent(client, "POST", "/api/show", {"model": "owlet"})
    assert body["parameters"].splitlines()[:2] == [
        "num_ctx                        1e+06",
        "seed                           1.23456789e+08",
    ]
    parameters = {
        command.name: command.value for command in parse_modelfile(body["modelfile"]).all(Keyword.PARAMETER)
    }
    assert parameters == {"num_ctx": "1000000", "seed": "123456789", "top_p": "0.25", "use_mmap": "true"}


async def test_the_modelfile_of_a_model_that_is_kept_as_tensors_starts_from_its_name(
    client: Client, state: AppState
) -> None:
    content = canonical_json(ModelConfig(model_format="safetensors").to_json())
    config = await asyncio.to_thread(state.models.blobs.put, content)
    layer = Layer(media_type=MediaType.CONFIG, digest=str(config.digest), size=config.size_bytes)
    await state.models.replace(ModelName.parse("flat"), Manifest(config=layer))
    _, body = await sent(client, "POST", "/api/show", {"model": "flat"})
    assert body["modelfile"] == (
        '# Modelfile generated by "ollama show"\n'
        "# To build a new Modelfile based on this, replace FROM with:\n"
        "\n"
        "FROM flat:latest\n"
        "TEMPLATE {{ .Prompt }}\n"
    )


async def test_one_editor_finds_the_name_as_base_name(client: Client) -> None:
    await made(client)
    agent = {"User-Agent": "GitHubCopilotChat/0.1"}
    async with client.post("/api/show", json={"model": "owlet"}, headers=agent) as reply:
        assert (await reply.json())["model_info"]["general.basename"] == "owlet"


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("", 400, "model is required"),
        ("  ", 400, "model is required"),
        ("a@b", 400, "invalid model name"),
        ("absent", 404, "model 'absent:latest' not found"),
        ("absent:local", 404, "model 'absent:latest' not found"),
        ("x:cloud:local", 400, 'use either :local or :cloud, not both: "x:cloud:local"'),
        ("x:cloud", 403, "ollama cloud is disabled: remote model details are unavailable"),
    ],
)
async def test_what_cannot_be_shown_is_said(client: Client, name: str, status: int, message: str) -> None:
    found, body = await sent(client, "POST", "/api/show", {"model": name})
    assert (found, body["error"]) == (status, message)


async def test_a_stub_of_a_remote_model_is_shown_unless_the_cloud_is_disabled(state: AppState) -> None:
    stub = {"model": "stub", "from": "far", "remote_host": "http://h:1", "info": {"model_family": "llama"}}
    async with serving(state) as client:
        assert await sent(client, "POST", "/api/create", stub | {"stream": False}) == (
            200,
            {"status": "success"},
        )
        status, body = await sent(client, "POST", "/api/show", {"model": "stub"})
        assert (status, body["remote_model"], body["remote_host"]) == (200, "far", "http://h:1")
        assert body["model_info"] == {"general.architecture": "llama"}
    async with serving(replace(state, cloud_source="env")) as client:
        status, _ = await sent(client, "POST", "/api/show", {"model": "stub"})
        assert status == 403


# copy and delete


async def test_a_copy_has_the_same_digest(client: Client) -> None:
    await made(client)
    assert await sent(client, "POST", "/api/copy", {"source": "OWLET", "destination": "bird"}) == (200, "")
    _, body = await sent(client, "GET", "/api/tags")
    assert {model["name"] for model in body["models"]} == {"owlet:latest", "bird:latest"}
    assert len({model["digest"] for model in body["models"]}) == 1


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"source": "", "destination": "x"}, 400, 'source "" is invalid'),
        ({"source": 'a"b', "destination": "x"}, 400, 'source "a\\"b" is invalid'),
        ({"source": "café", "destination": "x"}, 400, 'source "café" is invalid'),
        ({"source": "owlet"}, 400, 'destination "" is invalid'),
        ({"source": "absent:local", "destination": "x"}, 404, 'model "absent:local" not found'),
    ],
)
async def test_what_cannot_be_copied_is_said(
    client: Client, body: dict[str, str], status: int, message: str
) -> None:
    assert await sent(client, "POST", "/api/copy", body) == (status, {"error": message})


async def test_a_deleted_model_is_gone_with_its_files(client: Client, state: AppState) -> None:
    await made(client)
    assert await sent(client, "DELETE", "/api/delete", {"name": "Owlet:local"}) == (200, "")
    assert await sent(client, "GET", "/api/tags") == (200, {"models": []})
    assert made_files(state) == []


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        (" ", 400, "model is required"),
        ("../owlet", 400, 'name "../owlet" is invalid'),
        ("absent", 404, "model 'absent' not found"),
        ("absent:cloud", 404, "model 'absent:cloud' not found"),
    ],
)
async def test_what_cannot_be_deleted_is_said(client: Client, name: str, status: int, message: str) -> None:
    assert await sent(client, "DELETE", "/api/delete", {"model": name}) == (status, {"error": message})


# the rest


async def test_nothing_is_loaded_and_nobody_waits(client: Client) -> None:
    queue = {"waiting": 0, "by_model": {}, "oldest_ns": 0}
    assert await sent(client, "GET", "/api/ps") == (200, {"models": [], "queue": queue})


@pytest.mark.parametrize(
    "path", ["show", "copy", "create", "pull", "push", "generate", "chat", "embed", "embeddings"]
)
async def test_a_body_is_needed(client: Client, path: str) -> None:
    async with client.post(f"/api/{path}", data=b" \n") as reply:
        assert (reply.status, await reply.json()) == (400, {"error": "missing request body"})


async def test_the_content_type_of_a_request_does_not_matter(client: Client) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    async with client.post("/api/show", data=b'{"MODEL":"absent"}', headers=headers) as reply:
        assert reply.status == 404


@pytest.mark.parametrize(
    ("path", "name", "status", "message"),
    [
        ("pull", "", 400, "invalid model name"),
        ("pull", "a@b", 400, "invalid model name"),
        ("pull", "x:cloud:local", 400, 'use either :local or :cloud, not both: "x:cloud:local"'),
        ("push", "", 400, "model is required"),
    ],
)
async def test_transfers_are_refused_in_words(
    client: Client, path: str, name: str, status: int, message: str
) -> None:
    found, body = await sent(client, "POST", f"/api/{path}", {"model": name})
    assert (found, body["error"]) == (status, message)


@pytest.mark.parametrize(
    "path", ["chat", "generate", "embed", "embeddings", "show", "pull", "create", "rerank"]
)
async def test_of_a_name_that_cannot_be_the_client_is_told_which_and_why(client: Client, path: str) -> None:
    asked = {"model": "owl@et", "query": "q", "documents": ["d"], "from": "owlet"}
    status, body = await sent(client, "POST", f"/api/{path}", asked)
    assert (status, body["error"]) == (400, "invalid model name")
    assert body["advice"].startswith("the model is 'owl@et' in 'owl@et'; a name is [host/]")


@pytest.mark.parametrize(
    ("source", "disabled"), [("none", False), ("env", True), ("config", True), ("both", True)]
)
async def test_the_status_tells_who_disabled_the_cloud(state: AppState, source: str, disabled: bool) -> None:
    async with serving(replace(state, cloud_source=source)) as client:
        status = {"cloud": {"disabled": disabled, "source": source}}
        assert await sent(client, "GET", "/api/status") == (200, status)


async def test_the_version_is_told(client: Client) -> None:
    assert await sent(client, "GET", "/api/version") == (200, {"version": "1.2.3"})


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/api/me", None, 503, "account unavailable"),
        ("POST", "/api/signout", None, 500, "there was an error signing out"),
        ("DELETE", "/api/user/keys/abc", None, 500, "there was an error signing out"),
        (
            *("POST", "/api/experimental/web_search", {"query": "x"}, 403),
            "ollama cloud is disabled: web search is unavailable",
        ),
        (
            *("POST", "/api/experimental/web_fetch", {"url": "x"}, 403),
            "ollama cloud is disabled: web fetch is unavailable",
        ),
    ],
)
async def test_what_needs_an_account_is_refused(
    client: Client, method: str, path: str, body: Any, status: int, message: str
) -> None:
    assert await sent(client, method, path, body) == (status, {"error": message})


async def test_nothing_is_recommended(client: Client) -> None:
    path = "/api/experimental/model-recommendations"
    assert await sent(client, "GET", path) == (200, {"recommendations": []})


async def test_metrics_are_in_the_format_of_prometheus(client: Client) -> None:
    async with client.get("/metrics") as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=")
        text = await reply.text()
    assert "orch_queue_length 0.0" in text
    assert "orch_runners_loaded 0.0" in text
