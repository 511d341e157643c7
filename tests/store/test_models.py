"""Models of a store: opened, listed, copied, deleted; damage to one is no harm to others."""

from __future__ import annotations

import asyncio
import logging
import os
import struct
import tracemalloc
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.domain.requests import Message
from orchestrator.errors import StoreError
from orchestrator.store.canonical import canonical_json
from orchestrator.store.errors import CorruptManifest, DamagedModel, ModelNotFound
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Layer, Manifest, MediaType, ModelConfig
from tests.gguf_builder import Tensor, build_gguf

OWL, FOX = ModelName.parse("owl"), ModelName.parse("Fox")
KEYS = {
    "general.architecture": "llama",
    "general.file_type": 15,
    "llama.block_count": 2,
    "llama.context_length": 2048,
    "llama.embedding_length": 64,
    "tokenizer.ggml.tokens": ["a", "b"],
    "tokenizer.chat_template": "{{ messages }}",
}
WEIGHTS = build_gguf(KEYS, [Tensor("token_embd.weight", (64, 4), "F16")])


@pytest.fixture
def store(layout: StoreLayout) -> ModelStore:
    return ModelStore(layout)


def put(store: ModelStore, media_type: MediaType, content: bytes, **members: Any) -> Layer:
    blob = store.blobs.put(content)
    return Layer(media_type=media_type, digest=str(blob.digest), size=blob.size_bytes, **members)


def add(
    store: ModelStore,
    name: ModelName = OWL,
    *,
    config: ModelConfig | None = None,
    texts: Mapping[MediaType, bytes] = {},
    weights: bytes | None = WEIGHTS,
) -> Manifest:
    """Put a model into the store."""
    config = config or ModelConfig(model_format="gguf", model_family="llama", model_families=("llama",))
    layers = [] if weights is None else [put(store, MediaType.MODEL, weights, from_="owl.gguf")]
    layers += [put(store, media_type, content) for media_type, content in texts.items()]
    manifest = Manifest(
        config=put(store, MediaType.CONFIG, canonical_json(config.to_json())), layers=tuple(layers)
    )
    store.manifests.write(name, manifest)
    return manifest


async def in_thread(*arguments: Any, **options: Any) -> Manifest:
    return await asyncio.to_thread(add, *arguments, **options)


async def test_a_model_has_everything_its_manifest_leads_to(store: ModelStore) -> None:
    texts = {
        MediaType.TEMPLATE: b"{{ .Prompt }}",
        MediaType.SYSTEM: b"Hoot.",
        MediaType.PARAMS: b'{"stop":["x"],"temperature":0.5}\n',
        MediaType.MESSAGES: b'[{"role":"user","content":"Hi"}]\n',
        MediaType.LICENSE: b"MIT",
        MediaType.EMBED: b"old",
    }
    manifest = await in_thread(store, texts=texts)
    model = await store.open(ModelName.parse("OWL"))
    assert model.name == OWL
    assert model.template_text == "{{ .Prompt }}"
    assert model.chat_template == "{{ messages }}"
    assert model.system == "Hoot."
    assert model.parameters == {"stop": ["x"], "temperature": 0.5}
    assert model.messages == (Message("user", "Hi"),)
    assert model.licenses == ("MIT",)
    assert model.parent == "owl.gguf"
    assert model.quantization == "Q4_K_M"
    assert model.size_bytes == sum(part.size for part in manifest.parts)
    files = model.files
    assert files.key == str(files.weights) == str(store.layout.blob(Digest.parse(manifest.layers[0].digest)))
    assert (files.name, files.family, files.families) == ("owl:latest", "llama", ("llama",))
    assert files.digest == model.digest == (await store.list())[0].digest
    assert (files.facts.trained_context, files.facts.block_count) == (2048, 2)
    assert files.capabilities == {"completion"}


async def test_a_model_of_texts_alone_has_no_weights(store: ModelStore) -> None:
    await in_thread(store, weights=None, config=ModelConfig(remote_host="http://h", remote_model="m"))
    model = await store.open(OWL)
    assert not model.has_weights
    assert model.files.key == f"digest:{model.digest}"
    assert model.capabilities == ()
    assert model.chat_template is None


async def test_names_that_share_weights_share_a_key(store: ModelStore) -> None:
    await in_thread(store)
    await in_thread(store, FOX, texts={MediaType.SYSTEM: b"Yip."})
    assert (await store.open(OWL)).files.key == (await store.open(FOX)).files.key


async def test_a_change_is_seen_at_the_next_opening(store: ModelStore) -> None:
    await in_thread(store)
    path = store.layout.manifest(OWL)
    os.utime(path, (1, 1))  # long ago, so that the model is kept
    assert await store.open(OWL) is await store.open(OWL)
    await in_thread(store, texts={MediaType.SYSTEM: b"Hoot."})
    assert (await store.open(OWL)).system == "Hoot."
    await store.delete(OWL)
    with pytest.raises(ModelNotFound):
        await store.open(OWL)


@pytest.mark.parametrize(
    ("config", "quantization"),
    [("", "Q4_K_M"), ("unknown", "Q4_K_M"), ("Q8_0", "Q8_0")],
)
async def test_an_unknown_quantization_is_read_from_the_weights(
    store: ModelStore, config: str, quantization: str
) -> None:
    await in_thread(store, config=ModelConfig(file_type=config))
    assert (await store.open(OWL)).quantization == quantization
    assert (await store.list())[0].quantization == quantization


async def test_the_listing_is_newest_first_and_has_the_lengths(store: ModelStore) -> None:
    for number, name in enumerate(("a", "b", "c")):
        await in_thread(store, ModelName.parse(name))
        os.utime(store.layout.manifest(ModelName.parse(name)), (number, number))
    entries = await store.list()
    assert [entry.name.model for entry in entries] == ["c", "b", "a"]
    assert {(entry.context_length, entry.embedding_length) for entry in entries} == {(2048, 64)}
    assert {entry.capabilities for entry in entries} == {("completion",)}
    assert [entry.modified_ns for entry in entries] == [2_000_000_000, 1_000_000_000, 0]


async def test_lengths_of_the_configuration_go_first(store: ModelStore) -> None:
    await in_thread(store, config=ModelConfig(context_length=1, embedding_length=2))
    entry = (await store.list())[0]
    assert (entry.context_length, entry.embedding_length) == (1, 2)


async def test_a_copy_is_the_same_model_under_another_name(store: ModelStore) -> None:
    await in_thread(store)
    await store.copy(ModelName.parse("OWL"), ModelName.parse("barn/owl"))
    copied = await store.open(ModelName.parse("barn/OWL"))
    assert copied.name.short == "barn/owl:latest"
    assert copied.digest == (await store.open(OWL)).digest
    await store.copy(OWL, ModelName.parse("Owl"))
    assert len(await store.list()) == 2
    with pytest.raises(ModelNotFound):
        await store.copy(ModelName.parse("absent"), OWL)


async def test_deleting_leaves_what_others_use(store: ModelStore) -> None:
    await in_thread(store, texts={MediaType.SYSTEM: b"own"})
    await in_thread(store, FOX, texts={MediaType.LICENSE: b"other"})
    await store.delete(ModelName.parse("OWL:latest"))
    assert [entry.name for entry in await store.list()] == [FOX]
    fox = await store.open(FOX)
    assert len(list(store.layout.blobs.iterdir())) == len(fox.manifest.parts)


@pytest.mark.parametrize("content", [b"", b"{", b'{"layers":7}'])
async def test_a_broken_manifest_is_deleted_and_the_warning_goes(
    store: ModelStore, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    await in_thread(store)
    store.layout.manifest(OWL).write_bytes(content)
    with pytest.raises(CorruptManifest):
        await store.open(OWL)
    await store.list()
    await store.start()
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    caplog.clear()
    await store.delete(OWL)
    await store.start()
    await in_thread(store)
    assert [entry.name for entry in await store.list()] == [OWL]
    assert not caplog.records


def break_header(content: bytes) -> bytes:
    """The file with an absurd number of keys."""
    return content[:16] + struct.pack("<Q", 0x7FFFFFFFFFFFFFFF) + content[24:]


async def test_one_damaged_file_among_many_is_told_and_does_no_harm(
    store: ModelStore, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(30):
        await in_thread(store, ModelName.parse(f"good{number}"))
    await in_thread(store, weights=break_header(WEIGHTS))
    tracemalloc.start()
    with caplog.at_level(logging.WARNING):
        entries = await store.list()
        again = await store.list()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20
    assert entries == again
    damaged = [entry for entry in entries if entry.damage]
    assert [entry.name for entry in damaged] == [OWL]
    assert len(entries) == 31
    assert [record.message for record in caplog.records] == ["damaged model listed"]
    with pytest.raises(DamagedModel, match=r"^model 'owl:latest' is damaged: malformed GGUF"):
        await store.open(OWL)


async def test_a_repaired_model_is_well_again(store: ModelStore) -> None:
    manifest = await in_thread(store)
    weights = store.layout.blob(Digest.parse(manifest.layers[0].digest))
    content = weights.read_bytes()
    weights.unlink()
    assert (await store.list())[0].damage == f"open {weights}: no such file or directory"
    with pytest.raises(DamagedModel):
        await store.open(OWL)
    weights.write_bytes(content)
    assert (await store.list())[0].damage == ""
    await store.open(OWL)


async def test_an_unreadable_configuration_or_template_hides_the_entry(store: ModelStore) -> None:
    await in_thread(store)
    manifest = await in_thread(store, FOX, config=ModelConfig(model_family="other"))
    store.layout.blob(Digest.parse(manifest.config.digest)).write_bytes(b"no json")
    await in_thread(store, ModelName.parse("hare"), texts={MediaType.TEMPLATE: b"{{ .Prompt"})
    assert [entry.name for entry in await store.list()] == [OWL]
    for name in (FOX, ModelName.parse("hare")):
        with pytest.raises(DamagedModel):
            await store.open(name)


@pytest.mark.parametrize(
    ("media_type", "content"),
    [(MediaType.PARAMS, b"[]"), (MediaType.PARAMS, b"{"), (MediaType.MESSAGES, b"{}")],
)
async def test_a_layer_that_cannot_be_understood_is_damage(
    store: ModelStore, media_type: MediaType, content: bytes
) -> None:
    await in_thread(store, texts={media_type: content})
    with pytest.raises(DamagedModel):
        await store.open(OWL)


async def test_a_manifest_with_digests_that_are_none_is_damage(store: ModelStore) -> None:
    manifest = Manifest(layers=(Layer(media_type=MediaType.MODEL, digest="sha256:../../x"),))
    await asyncio.to_thread(store.manifests.write, OWL, manifest)
    with pytest.raises(DamagedModel, match="invalid digest format"):
        await store.open(OWL)
    await store.delete(OWL)


async def test_starting_removes_only_what_is_old_and_unused(store: ModelStore) -> None:
    manifest = await in_thread(store)
    old = (await asyncio.to_thread(store.blobs.put, b"old")).digest
    young = (await asyncio.to_thread(store.blobs.put, b"young")).digest
    long_ago = -timedelta(days=1).total_seconds()
    for digest in (old, *(Digest.parse(part.digest) for part in manifest.parts)):
        os.utime(store.layout.blob(digest), (long_ago, long_ago))
    await store.start()
    names = {path.name for path in store.layout.blobs.iterdir()}
    assert old.file_name not in names
    assert young.file_name in names
    assert await store.open(OWL)


async def test_a_store_told_not_to_prune_keeps_everything(layout: StoreLayout) -> None:
    store = ModelStore(layout, prunes=False)
    blob = (await asyncio.to_thread(store.blobs.put, b"old")).digest
    os.utime(layout.blob(blob), (0, 0))
    await store.start()
    assert layout.blob(blob).exists()


async def test_a_store_that_cannot_be_made_stops_the_start(read_only_disk: Path) -> None:
    with pytest.raises(StoreError, match="ensure path elements are traversable"):
        await ModelStore(StoreLayout(read_only_disk / "models")).start()


async def test_a_linked_store_works_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "models").symlink_to(tmp_path / "elsewhere")
    store = ModelStore(StoreLayout(tmp_path / "models"))
    await store.start()
    await in_thread(store)
    assert (await store.open(OWL)).files.facts.block_count == 2
    await store.delete(OWL)
    assert list((tmp_path / "elsewhere" / "blobs").iterdir()) == []


async def test_a_replacement_with_a_missing_blob_changes_nothing(store: ModelStore) -> None:
    await in_thread(store)
    before = (await store.open(OWL)).digest
    missing = Manifest(layers=(Layer(media_type=MediaType.MODEL, digest=f"sha256:{'0' * 64}"),))
    with pytest.raises(StoreError, match="no such file or directory"):
        await store.replace(OWL, missing)
    assert (await store.open(OWL)).digest == before


async def test_many_changes_at_once_lose_nothing(store: ModelStore) -> None:
    await in_thread(store)
    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(store.copy(OWL, ModelName.parse(f"copy{number}")))
    async with asyncio.TaskGroup() as group:
        for number in range(7):
            group.create_task(store.delete(ModelName.parse(f"copy{number}")))
        group.create_task(store.delete(OWL))
    assert [entry.name.model for entry in await store.list()] == ["copy7"]
    assert await store.open(ModelName.parse("copy7"))


async def test_pruning_can_be_tried(store: ModelStore) -> None:
    await in_thread(store)
    stray = await asyncio.to_thread(store.blobs.put, b"stray")
    path = store.layout.blob(stray.digest)
    os.utime(path, (0, 0))
    tried = await store.prune(dry_run=True)
    assert [found.name for found in tried.removable] == [stray.digest.file_name]
    assert path.exists()
    assert await store.prune() == tried
    assert not path.exists()
    assert await store.open(OWL)


async def test_what_is_held_is_not_pruned(store: ModelStore) -> None:
    stray = await asyncio.to_thread(store.blobs.put, b"stray")
    path = store.layout.blob(stray.digest)
    os.utime(path, (0, 0))
    with store.holding([stray.digest]):
        await store.prune()
        assert path.exists()
    await store.prune()
    assert not path.exists()


async def test_what_was_to_go_while_it_was_held_goes_at_the_end(store: ModelStore) -> None:
    manifest = await in_thread(store)
    paths = [store.layout.blob(Digest.parse(part.digest)) for part in manifest.parts]
    async with store.held(Digest.parse(part.digest) for part in manifest.parts):
        await store.delete(OWL)
        assert all(path.exists() for path in paths)
    assert not any(path.exists() for path in paths)


async def test_a_manifest_from_elsewhere_is_kept_byte_for_byte(store: ModelStore) -> None:
    manifest = await in_thread(store)
    content = b"  " + canonical_json(manifest.to_json())
    await asyncio.to_thread(store.install_now, FOX, content)
    assert store.layout.manifest(FOX).read_bytes() == content
    with pytest.raises(CorruptManifest):
        await asyncio.to_thread(store.install_now, FOX, b"{")
    assert store.layout.manifest(FOX).read_bytes() == content
