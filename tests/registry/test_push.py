"""Pushing to registries of every kind, and what happens when one fails."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.errors import OrchestratorError
from orchestrator.registry.errors import AccessDenied, RegistryError, RetriesExhausted
from orchestrator.registry.outgoing import UploadRefused
from orchestrator.registry.push import NothingToPush, Pusher
from orchestrator.registry.registries import Registries
from orchestrator.registry.settings import RegistrySettings
from orchestrator.registry.upload import Upload
from orchestrator.registry.upload_parts import (
    LEAST_PART_BYTES,
    MOST_PART_BYTES,
    LocalBlob,
    UploadPart,
    parts_from,
)
from orchestrator.store.canonical import canonical_json
from orchestrator.store.errors import DamagedModel
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Layer, Manifest
from tests.registry.oci import OciRegistry, digest_of, oci_registry

CONFIG = b'{"model_format":"gguf"}\n'
WEIGHTS = bytes(range(256)) * 400
TEMPLATE = b"{{ .Prompt }}"
PART_BYTES = 10_000

PART_COUNT = 11
"""Of the weights."""


@pytest.fixture
async def registry() -> AsyncIterator[OciRegistry]:
    async with oci_registry() as registry:
        yield registry


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(StoreLayout(tmp_path / "models"))


@pytest.fixture
def registries(tmp_path: Path) -> Registries:
    return Registries(RegistrySettings(key_folder=tmp_path / "keys"))


@pytest.fixture
def pusher(store: ModelStore, registries: Registries) -> Pusher:
    """One that does not wait between attempts."""
    return Pusher(registries, store, delays_s=(0.0,) * 5, least_part_bytes=PART_BYTES)


@pytest.fixture
def model(store: ModelStore, registry: OciRegistry) -> str:
    """The name of a model that belongs into the registry."""
    name = f"{registry.name}/lib/owl:v1"
    parts = [store.blobs.put(content) for content in (CONFIG, WEIGHTS, TEMPLATE)]
    config, *layers = (Layer(digest=str(part.digest), size=part.size_bytes) for part in parts)
    store.replace_now(ModelName.parse(name), Manifest(config=config, layers=tuple(layers)))
    return name


async def told(pusher: Pusher, name: str) -> list[Progress]:
    return [step async for step in pusher.push(name, insecure=True)]


async def failure(pusher: Pusher, name: str) -> OrchestratorError:
    with pytest.raises(OrchestratorError) as caught:
        await told(pusher, name)
    return caught.value


def assert_complete(registry: OciRegistry) -> None:
    assert set(registry.blobs) == {digest_of(content) for content in (CONFIG, WEIGHTS, TEMPLATE)}
    assert list(registry.manifests) == ["/v2/lib/owl/manifests/v1"]


async def test_a_model_arrives_whole_and_in_order(
    registry: OciRegistry, pusher: Pusher, store: ModelStore, model: str
) -> None:
    steps = await told(pusher, model)
    assert_complete(registry)
    last = {step.digest: step for step in steps if step.digest}
    assert [(digest, step.completed_bytes) for digest, step in last.items()] == [
        (digest_of(content), len(content)) for content in (WEIGHTS, TEMPLATE, CONFIG)
    ]
    texts = [step.status for step in steps if not step.digest]
    assert texts == ["retrieving manifest", "pushing manifest", "success"]
    assert steps[1].status == f"pushing {digest_of(WEIGHTS)[7:19]}"
    (sent,) = registry.manifests.values()
    stored = await asyncio.to_thread(store.manifests.read, ModelName.parse(model))
    assert sent + b"\n" == canonical_json(stored.manifest.to_json())


async def test_parts_follow_one_another_with_their_ranges(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    await told(pusher, model)
    ranges = [headers["Content-Range"] for headers in registry.headers if headers["kind"] == "PATCH part"]
    assert ranges[:2] == ["0-9999", "10000-19999"]
    assert ranges[PART_COUNT - 1] == "100000-102399"
    parts = [WEIGHTS[at : at + PART_BYTES] for at in range(0, len(WEIGHTS), PART_BYTES)]
    sums = b"".join(hashlib.md5(part, usedforsecurity=False).digest() for part in parts)
    commit = next(query for query in registry.queries if query["kind"] == "PUT upload")
    etag = f"{hashlib.md5(sums, usedforsecurity=False).hexdigest()}-{PART_COUNT}"
    assert commit == {"kind": "PUT upload", "state": "a+b", "digest": digest_of(WEIGHTS), "etag": etag}


async def test_what_is_there_is_not_sent_again(registry: OciRegistry, pusher: Pusher, model: str) -> None:
    await told(pusher, model)
    before = registry.asked.copy()
    steps = await told(pusher, model)
    assert registry.asked - before == {"HEAD blob": 3, "PUT manifest": 1}
    assert [step.completed_bytes for step in steps if step.digest] == [
        len(WEIGHTS), len(TEMPLATE), len(CONFIG),
    ]  # fmt: skip


async def test_parts_that_go_elsewhere_go_without_credentials(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.redirects_parts = True
    await told(pusher, model)
    assert_complete(registry)
    assert registry.asked["PUT direct"] == PART_COUNT + 2
    direct = [headers for headers in registry.headers if headers["kind"] == "PUT direct"]
    assert not any("Authorization" in headers or "Content-Range" in headers for headers in direct)


async def test_a_part_that_fails_elsewhere_is_sent_again(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.redirects_parts = True
    registry.failures = [("PUT direct", 503), ("PUT direct", 0), ("PATCH part", 0), ("PATCH part", 502)]
    await told(pusher, model)
    assert_complete(registry)


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_registry_that_takes_no_parts_gets_the_blob_whole(
    registry: OciRegistry, pusher: Pusher, model: str, status: int
) -> None:
    registry.refused = {"PATCH part": status}
    await told(pusher, model)
    assert_complete(registry)
    assert registry.asked["PUT upload"] == 3


async def test_an_upload_goes_on_where_the_registry_says(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.loses_half = True
    await told(pusher, model)
    assert_complete(registry)
    assert registry.asked["GET upload"] == 1
    assert registry.asked["POST upload"] == 3
    commit = next(query for query in registry.queries if query["kind"] == "PUT upload")
    assert "etag" not in commit


async def test_an_upload_that_was_forgotten_begins_anew(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.loses_half = registry.forgets_uploads = True
    await told(pusher, model)
    assert_complete(registry)
    assert registry.asked["POST upload"] == 4


async def test_a_registry_may_want_larger_parts(registry: OciRegistry, pusher: Pusher, model: str) -> None:
    registry.least_chunk = 60_000
    await told(pusher, model)
    assert_complete(registry)
    assert registry.asked["PATCH part"] == 2 + 2


async def test_a_commit_whose_answer_got_lost_counts(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.failures = [("PUT upload", 503)]
    registry.blobs[digest_of(TEMPLATE)] = TEMPLATE
    await told(pusher, model)
    assert_complete(registry)
    assert registry.asked["PUT upload"] == 3


async def test_a_blob_of_another_model_of_the_registry_is_mounted(
    registry: OciRegistry, pusher: Pusher, store: ModelStore, model: str
) -> None:
    name = ModelName.parse(model)
    manifest = (await asyncio.to_thread(store.manifests.read, name)).manifest
    weights = manifest.layers[0].model_copy(update={"from_": f"{registry.name}/lib/other:latest"})
    changed = manifest.model_copy(update={"layers": (weights, *manifest.layers[1:])})
    await asyncio.to_thread(store.replace_now, name, changed)
    registry.blobs[weights.digest] = WEIGHTS
    registry.failures = [("HEAD blob", 404)]
    await told(pusher, model)
    assert_complete(registry)
    asked = next(query for query in registry.queries if query["kind"] == "POST upload")
    assert asked == {"kind": "POST upload", "from": "lib/other", "mount": weights.digest}
    assert registry.asked["POST upload"] == 3


async def test_an_empty_blob_can_be_sent(registry: OciRegistry, pusher: Pusher, store: ModelStore) -> None:
    empty = await asyncio.to_thread(store.blobs.put, b"")
    name = ModelName.parse(f"{registry.name}/lib/empty")
    await asyncio.to_thread(store.replace_now, name, Manifest(layers=(Layer(digest=str(empty.digest)),)))
    await told(pusher, name.full)
    assert registry.blobs == {str(empty.digest): b""}


@pytest.mark.parametrize("uses", [1, 3, 1000])
async def test_a_token_that_has_run_out_is_renewed(
    registry: OciRegistry, pusher: Pusher, model: str, uses: int
) -> None:
    registry.token_uses = uses
    await told(pusher, model)
    assert_complete(registry)
    requests = sum(registry.asked.values()) - 2 * registry.asked["GET other"]
    assert registry.asked["GET other"] == -(-requests // uses)


async def test_a_refused_part_says_why(registry: OciRegistry, pusher: Pusher, model: str) -> None:
    registry.refused = {"PATCH part": 403}
    error = await failure(pusher, model)
    assert isinstance(error, UploadRefused)
    assert str(error) == "http status 403 Forbidden: out of order"
    assert not registry.manifests


async def test_a_part_that_keeps_failing_ends_the_push(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.refused = {"PATCH part": 503}
    error = await failure(pusher, model)
    assert isinstance(error, RetriesExhausted)
    assert str(error) == "max retries exceeded: http status 503 Service Unavailable: out of order"
    assert registry.asked["PATCH part"] == 6


async def test_an_upload_that_has_stopped_moving_fails(
    registry: OciRegistry, registries: Registries, store: ModelStore, model: str
) -> None:
    registry.is_deaf = True
    digest = Digest.parse(digest_of(WEIGHTS))
    blob = LocalBlob(digest, store.blobs.path(digest), len(WEIGHTS))
    async with registries.client(ModelName.parse(model), insecure=True) as client:
        upload = Upload(client, blob, delays_s=(), stall_s=0.1, settling_s=0.1)
        with pytest.raises(RetriesExhausted, match=f"the upload of {digest.short} has stopped moving"):
            await upload.run()
    assert upload.sent_bytes == 0


async def test_an_answer_to_the_question_for_a_blob_that_is_none_ends_the_push(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.refused = {"HEAD blob": 500}
    assert str(await failure(pusher, model)) == "500: "


async def test_a_registry_that_wants_what_we_do_not_have_ends_the_push(
    registry: OciRegistry, pusher: Pusher, model: str
) -> None:
    registry.refused = {"HEAD blob": 401}
    error = await failure(pusher, model)
    assert isinstance(error, RegistryError)
    assert not isinstance(error, AccessDenied)
    assert str(error) == f'realm host "" does not match original host "{registry.name}"'


@pytest.mark.parametrize(
    ("name", "whole"),
    [("a b", "registry.ollama.ai/library/a b:latest"), (":t", "registry.ollama.ai/library/!MISSING!:t")],
)
async def test_a_name_that_is_none_is_told_after_the_status(pusher: Pusher, name: str, whole: str) -> None:
    pushing = pusher.push(name)
    assert (await anext(pushing)).status == "retrieving manifest"
    assert (await anext(pushing)).status == "couldn't retrieve manifest"
    with pytest.raises(NothingToPush) as caught:
        await anext(pushing)
    assert str(caught.value) == f"unqualified name: {whole}"


async def test_a_model_that_is_not_there_is_told_by_its_path(pusher: Pusher, store: ModelStore) -> None:
    error = await failure(pusher, "owl")
    path = store.layout.root / "manifests/registry.ollama.ai/library/owl/latest"
    assert str(error) == f"open {path}: no such file or directory"


async def test_a_model_whose_part_is_missing_is_not_sent(
    registry: OciRegistry, pusher: Pusher, store: ModelStore, model: str
) -> None:
    store.layout.blob(Digest.parse(digest_of(WEIGHTS))).unlink()
    assert isinstance(await failure(pusher, model), DamagedModel)
    assert not registry.asked


async def test_a_push_that_is_given_up_leaves_no_task(
    registry: OciRegistry, registries: Registries, store: ModelStore, model: str
) -> None:
    registry.is_deaf = True
    before = asyncio.all_tasks()
    pusher = Pusher(registries, store)
    async with aclosing(pusher.push(model, insecure=True)) as steps:
        async for step in steps:
            if step.digest:
                break
    assert {task for task in asyncio.all_tasks() - before if "run" in repr(task.get_coro())} == set()


def test_parts_are_neither_too_small_nor_too_large() -> None:
    assert parts_from(0, 0) == []
    assert parts_from(0, 5) == [UploadPart(0, 0, 5)]
    assert {part.size_bytes for part in parts_from(0, 16 * 200_000_000)} == {200_000_000}
    assert parts_from(0, 40 * 10**9)[0].size_bytes == MOST_PART_BYTES
    first, second = parts_from(7, LEAST_PART_BYTES + 8)
    assert (first, second) == (UploadPart(0, 7, LEAST_PART_BYTES), UploadPart(1, LEAST_PART_BYTES + 7, 1))
