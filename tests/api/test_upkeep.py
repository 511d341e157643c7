"""Pruning and verifying through the API."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.api.state import AppState
from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.registry.settings import RegistrySettings
from orchestrator.registry.transfers import Transfers
from orchestrator.store.wire import Layer, Manifest
from tests.api.conftest import Client, serving
from tests.registry.oci import OciRegistry, digest_of, oci_registry

WEIGHTS, CONFIG = b"weights" * 1000, b'{"model_format":"gguf"}\n'
OWL = ModelName.parse("owl")


@pytest.fixture
async def registry() -> AsyncIterator[OciRegistry]:
    """Has the parts of the model."""
    async with oci_registry() as registry:
        registry.blobs = {digest_of(content): content for content in (WEIGHTS, CONFIG)}
        yield registry


@pytest.fixture
async def client(state: AppState, registry: OciRegistry, tmp_path: Path) -> AsyncIterator[Client]:
    settings = RegistrySettings(key_folder=tmp_path / "keys", mirror=f"http://{registry.name}")
    mirrored = replace(state, make_transfers=lambda: Transfers(state.models, settings))
    await asyncio.to_thread(_make, state)
    async with serving(mirrored) as client:
        yield client


def _make(state: AppState) -> None:
    config, weights = (
        Layer(digest=str(blob.digest), size=blob.size_bytes)
        for blob in map(state.models.blobs.put, (CONFIG, WEIGHTS))
    )
    state.models.replace_now(OWL, Manifest(config=config, layers=(weights,)))


def path_of(state: AppState, content: bytes) -> Path:
    return state.models.layout.blob(Digest.parse(digest_of(content)))


async def stray(state: AppState, content: bytes, *, old: bool = True) -> Path:
    blob = await asyncio.to_thread(state.models.blobs.put, content)
    path = state.models.layout.blob(blob.digest)
    if old:
        os.utime(path, (0, 0))
    return path


async def lines(client: Client, **body: Any) -> list[dict[str, Any]]:
    async with client.post("/api/verify", json=body) as reply:
        assert reply.status == 200
        return [json.loads(line) for line in (await reply.text()).splitlines()]


async def test_what_would_go_is_told_and_stays(client: Client, state: AppState) -> None:
    old, young = await stray(state, b"old"), await stray(state, b"young", old=False)
    async with client.post("/api/prune", json={"dry_run": True}) as reply:
        told = await reply.json()
    assert [(file["name"], file["kind"]) for file in told["files"]] == [(old.name, "unused blob")]
    assert [file["name"] for file in told["spared"]] == [young.name]
    assert told["size"] == told["files"][0]["size"] > 0
    assert old.exists()


async def test_what_nothing_uses_goes(client: Client, state: AppState) -> None:
    old, young = await stray(state, b"old"), await stray(state, b"young", old=False)
    async with client.post("/api/prune", json={}) as reply:
        told = await reply.json()
    assert (told["dry_run"], [file["name"] for file in told["files"]]) == (False, [old.name])
    assert (old.exists(), young.exists(), path_of(state, WEIGHTS).exists()) == (False, True, True)


async def test_nothing_goes_while_a_manifest_cannot_be_read(client: Client, state: AppState) -> None:
    old = await stray(state, b"old")
    await asyncio.to_thread(state.models.manifests.write_bytes, ModelName.parse("broken"), b"{")
    async with client.post("/api/prune", json={}) as reply:
        assert reply.status == 500
        assert (await reply.json())["error"].startswith("invalid manifest ")
    assert old.exists()


async def test_a_whole_store_verifies(client: Client) -> None:
    told = await lines(client)
    assert [line["status"] for line in told[:-1]] == [
        f"verifying {digest_of(content)[7:19]}" for content in (WEIGHTS, CONFIG)
    ]
    size = len(WEIGHTS) + len(CONFIG)
    assert told[-1] == {"status": "success", "blobs": 2, "size": size, "damages": []}


async def test_damage_names_the_models(client: Client, state: AppState, registry: OciRegistry) -> None:
    path_of(state, WEIGHTS).write_bytes(b"x" * len(WEIGHTS))
    path_of(state, CONFIG).unlink()
    last = (await lines(client, model="owl"))[-1]
    assert last["status"] == "damaged"
    assert last["damages"] == [
        {
            "name": digest_of(WEIGHTS),
            "problem": "damaged",
            "reason": "its content is not what its digest says",
            "models": ["owl:latest"],
            "repaired": False,
        },
        {
            "name": digest_of(CONFIG),
            "problem": "missing",
            "reason": "the file is not there",
            "models": ["owl:latest"],
            "repaired": False,
        },
    ]
    assert not registry.asked


async def test_only_what_is_damaged_is_fetched_again(
    client: Client, state: AppState, registry: OciRegistry
) -> None:
    path_of(state, WEIGHTS).write_bytes(b"x" * len(WEIGHTS))
    last = (await lines(client, repair=True))[-1]
    assert (last["status"], [damage["repaired"] for damage in last["damages"]]) == ("success", [True])
    assert path_of(state, WEIGHTS).read_bytes() == WEIGHTS
    assert not any(kind.endswith("manifest") for kind in registry.asked)
    assert (await lines(client))[-1]["status"] == "success"


async def test_what_cannot_be_fetched_again_says_why(
    client: Client, state: AppState, registry: OciRegistry
) -> None:
    registry.blobs.clear()
    path_of(state, WEIGHTS).write_bytes(b"short")
    last = (await lines(client, repair=True))[-1]
    assert last["status"] == "damaged"
    assert last["damages"][0]["repair_error"] == "owl:latest: file does not exist"
    assert path_of(state, WEIGHTS).read_bytes() == b"short"


async def test_without_network_the_repair_says_so(state: AppState, tmp_path: Path) -> None:
    await asyncio.to_thread(_make, state)
    path_of(state, WEIGHTS).unlink()
    settings = RegistrySettings(key_folder=tmp_path / "keys", mirror="http://127.0.0.1:1")
    offline = replace(state, make_transfers=lambda: Transfers(state.models, settings))
    async with serving(offline) as client:
        last = (await lines(client, repair=True))[-1]
    assert last["damages"][0]["repair_error"].startswith("no registry can be reached: owl:latest: ")


async def test_the_end_alone_can_be_asked_for(client: Client) -> None:
    async with client.post("/api/verify", json={"stream": False}) as reply:
        assert (await reply.json())["status"] == "success"


async def test_a_model_that_is_not_there_cannot_be_verified(client: Client) -> None:
    async with client.post("/api/verify", json={"model": "fox"}) as reply:
        assert (reply.status, await reply.json()) == (404, {"error": "model 'fox:latest' not found"})
