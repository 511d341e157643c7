"""Pulling and pushing through the API: what clients are told, and what is in the store afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName
from orchestrator.registry.settings import RegistrySettings
from orchestrator.registry.transfers import Transfers
from orchestrator.store.errors import ModelNotFound
from orchestrator.store.wire import Layer, Manifest, MediaType
from tests.api.conftest import Client, serving
from tests.gguf_builder import build_gguf
from tests.registry.oci import OciRegistry, digest_of, oci_registry

CONFIG = b'{"model_format":"gguf","model_family":"test"}\n'
WEIGHTS = build_gguf({"general.architecture": "test"})
PARTS = {digest_of(WEIGHTS): len(WEIGHTS), digest_of(CONFIG): len(CONFIG)}


@pytest.fixture
async def registry() -> AsyncIterator[OciRegistry]:
    async with oci_registry() as registry:
        yield registry


@pytest.fixture
async def client(state: AppState, registry: OciRegistry, tmp_path: Path) -> AsyncIterator[Client]:
    """Of a server whose own registry is the one here."""
    settings = RegistrySettings(key_folder=tmp_path / "keys", mirror=f"http://{registry.name}")
    mirrored = replace(state, make_transfers=lambda: Transfers(state.models, settings))
    async with serving(mirrored) as client:
        yield client


@pytest.fixture
async def name(state: AppState, registry: OciRegistry) -> str:
    """A model that is in the store, named after its place in the registry."""
    name = f"{registry.name}/lib/owl:v1"
    await asyncio.to_thread(_make, state, name)
    return name


def _make(state: AppState, name: str) -> None:
    config, weights = (state.models.blobs.put(content) for content in (CONFIG, WEIGHTS))
    layer = Layer(media_type=MediaType.MODEL, digest=str(weights.digest), size=weights.size_bytes)
    manifest = Manifest(config=Layer(digest=str(config.digest), size=config.size_bytes), layers=(layer,))
    state.models.replace_now(ModelName.parse(name), manifest)


async def lines(client: Client, path: str, **body: Any) -> list[dict[str, Any]]:
    """The lines of a stream."""
    async with client.post(path, json=body) as reply:
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/x-ndjson"
        return [json.loads(line) for line in (await reply.text()).splitlines()]


async def plain(client: Client, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
    async with client.post(path, json=body | {"stream": False}) as reply:
        assert reply.headers["Content-Type"] == "application/json"
        return reply.status, await reply.json()


def statuses(told: list[dict[str, Any]]) -> list[str]:
    return [line["status"] for line in told if "digest" not in line]


async def test_what_was_pushed_can_be_pulled(
    client: Client, state: AppState, registry: OciRegistry, name: str
) -> None:
    told = await lines(client, "/api/push", model=name, insecure=True)
    assert statuses(told) == ["retrieving manifest", "pushing manifest", "success"]
    sent = {line["digest"]: (line["total"], line["completed"]) for line in told if "digest" in line}
    assert sent == {digest: (size, size) for digest, size in PARTS.items()}
    await state.models.delete(ModelName.parse(name))
    told = await lines(client, "/api/pull", model=name, insecure=True)
    assert statuses(told) == ["pulling manifest", "verifying sha256 digest", "writing manifest", "success"]
    assert (await state.models.open(ModelName.parse(name))).digest


async def test_without_a_stream_only_the_end_is_told(client: Client, name: str) -> None:
    for path in ("/api/push", "/api/pull"):
        assert await plain(client, path, name=name, insecure=True) == (200, {"status": "success"})


async def test_a_model_that_the_registry_does_not_have_is_told_in_the_stream(
    client: Client, registry: OciRegistry
) -> None:
    told = await lines(client, "/api/pull", model=f"{registry.name}/lib/absent", insecure=True)
    assert told == [
        {"status": "pulling manifest"},
        {"error": "pull model manifest: file does not exist"},
    ]
    status, body = await plain(client, "/api/pull", model=f"{registry.name}/lib/absent", insecure=True)
    assert (status, body) == (500, {"error": "pull model manifest: file does not exist"})


async def test_a_model_that_is_not_here_cannot_be_pushed(client: Client, state: AppState) -> None:
    told = await lines(client, "/api/push", model="absent")
    path = state.models.layout.manifest(ModelName.parse("absent"))
    assert told == [
        {"status": "retrieving manifest"},
        {"status": "couldn't retrieve manifest"},
        {"error": f"open {path}: no such file or directory"},
    ]


async def test_a_scheme_does_not_make_a_pull_insecure(client: Client, registry: OciRegistry) -> None:
    *_, last = await lines(client, "/api/pull", model=f"http://{registry.name}/lib/owl")
    assert last["error"].startswith(f'pull model manifest: Get "https://{registry.name}/v2/lib/owl/')


async def test_create_pulls_a_model_it_starts_from(
    client: Client, state: AppState, registry: OciRegistry, name: str
) -> None:
    await plain(client, "/api/push", model=name, insecure=True)
    registry.manifests["/v2/library/base/manifests/latest"] = registry.manifests.popitem()[1]
    await state.models.delete(ModelName.parse(name))
    body = {"model": "made", "from": "base", "system": "Say hi!"}
    told = statuses(await lines(client, "/api/create", **body))
    assert told[:2] == ["pulling manifest", "verifying sha256 digest"]
    assert told[-2:] == ["writing manifest", "success"]
    assert (await state.models.open(ModelName.parse("made"))).system == "Say hi!"
    assert await state.models.open(ModelName.parse("base"))


async def test_create_from_what_is_nowhere_says_so_and_makes_nothing(client: Client, state: AppState) -> None:
    told = await lines(client, "/api/create", **{"model": "made", "from": "absent"})
    assert told[-1] == {"error": "pull model manifest: file does not exist"}
    with pytest.raises(ModelNotFound):
        await state.models.open(ModelName.parse("made"))
