"""Models and adapters made of folders of safetensors, from the request to the manifest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.create.build import build
from orchestrator.create.plan import CreateRequest, plan_create
from orchestrator.domain.names import ModelName
from orchestrator.errors import OrchestratorError
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from tests.create.convert.model_folders import write_folder
from tests.golden_records import Record, cases

FAMILIES = ("llama-bpe", "llama-spm", "llama-fp8", "qwen2", "gemma2", "gpt-oss")


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(StoreLayout(tmp_path / "models"))


async def create(store: ModelStore, **request: Any) -> list[str]:
    return [step.status async for step in build(plan_create(CreateRequest(**request)), store)]


async def uploaded(store: ModelStore, folder: str, directory: Path) -> dict[str, str]:
    """The files of a folder by name, with the digests under which they are in the store."""

    def put() -> dict[str, str]:
        files = write_folder(folder, directory / folder)
        return {name: str(store.blobs.put(path.read_bytes()).digest) for name, path in files.items()}

    return await asyncio.to_thread(put)


def chosen(files: dict[str, str], given: Mapping[str, Any]) -> dict[str, str]:
    """The files that a case names."""
    if only := given.get("files_only"):
        files = {name: files[name] for name in only}
    renamed = {name: files[source] for name, source in given.get("files_plus", {}).items()}
    without = given.get("files_without", ())
    kept = {name: digest for name, digest in files.items() if name not in without}
    return kept | renamed | dict(given.get("digests_plus", {}))


def of_the_whole_route() -> list[Any]:
    return [
        case
        for case in cases("convert/errors.jsonl")
        if case.values[0]["id"].startswith("create/") and "draft_files" not in case.values[0]["in"]
    ]


@pytest.mark.parametrize("record", of_the_whole_route())
async def test_a_request_ends_as_recorded(record: Record, store: ModelStore, tmp_path: Path) -> None:
    given = record["in"]
    request: dict[str, Any] = {"model": "made"}
    if base := given.get("from"):
        await create(store, model="base", files=await uploaded(store, base, tmp_path))
        request["base"] = "base"
    if folder := given.get("folder"):
        request["files"] = chosen(await uploaded(store, folder, tmp_path), given)
    if adapters := given.get("adapters"):
        request["adapters"] = chosen(await uploaded(store, adapters, tmp_path), given)
    error = ""
    try:
        await create(store, **request)
    except OrchestratorError as refusal:
        error = str(refusal)
    wanted = record.get("right", record).get("error", "")
    assert bool(error) == bool(wanted), error
    if wanted not in ("", "<ANY>") and "error" not in record.get("free", ()):
        assert error == wanted


@pytest.mark.parametrize("folder", FAMILIES)
async def test_a_folder_becomes_a_model(store: ModelStore, tmp_path: Path, folder: str) -> None:
    told = await create(store, model="made", files=await uploaded(store, folder, tmp_path))
    assert told[0] == "converting model"
    assert told[-1] == "success"
    model = await store.open(ModelName.parse("made"))
    assert model.has_weights
    assert model.config.file_type == {"llama-fp8": "Q8_0", "gpt-oss": "unknown"}.get(folder, "F16")
    assert [path.name for path in store.layout.root.iterdir() if path.is_dir()] == ["blobs", "manifests"]


async def test_an_adapter_stands_behind_the_weights_that_it_is_for(store: ModelStore, tmp_path: Path) -> None:
    await create(store, model="base", files=await uploaded(store, "llama-bpe", tmp_path))
    adapters = await uploaded(store, "adapter-llama-mlx", tmp_path)
    told = await create(store, model="tuned", base="base", adapters=adapters)
    assert "converting adapter" in told
    model = await store.open(ModelName.parse("tuned"))
    assert len(model.files.adapters) == 1


async def test_an_adapter_needs_weights_to_be_for(store: ModelStore, tmp_path: Path) -> None:
    await create(store, model="stub", base="far", remote_host="http://h:1")
    adapters = await uploaded(store, "adapter-llama-mlx", tmp_path)
    with pytest.raises(OrchestratorError, match="^no base model was found$"):
        await create(store, model="tuned", base="stub", adapters=adapters)
