"""Exporting and importing through the API."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from orchestrator.api.state import AppState
from orchestrator.domain.names import ModelName
from orchestrator.store.tar import header
from orchestrator.store.wire import Layer, Manifest
from tests.api.conftest import Client

OWL = ModelName.parse("owl")
WEIGHTS = bytes(range(256)) * 20_000


@pytest.fixture
async def archive(client: Client, state: AppState) -> bytes:
    """A model that was in the store, as a file."""
    await asyncio.to_thread(_make, state)
    async with client.post("/api/export", json={"model": "owl"}) as reply:
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/x-tar"
        content = await reply.read()
        assert len(content) == int(reply.headers["Content-Length"])
    await state.models.delete(OWL)
    await until(state, lambda files: not files)
    return content


def _make(state: AppState) -> None:
    layers = [
        Layer(digest=str(blob.digest), size=blob.size_bytes)
        for blob in map(state.models.blobs.put, (b"{}\n", WEIGHTS))
    ]
    state.models.replace_now(OWL, Manifest(config=layers[0], layers=(layers[1],)))


def files_of(state: AppState) -> list[Path]:
    return [path for path in state.models.layout.root.rglob("*") if path.is_file()]


async def taken(client: Client, content: Any, query: str = "") -> tuple[int, list[dict[str, Any]]]:
    data = io.BytesIO(content) if isinstance(content, bytes) else content
    async with client.post(f"/api/import{query}", data=data) as reply:
        return reply.status, [json.loads(line) for line in (await reply.text()).splitlines()]


async def test_an_exported_model_can_be_imported(client: Client, state: AppState, archive: bytes) -> None:
    status, told = await taken(client, archive)
    assert status == 200
    assert [line["status"].split()[0] for line in told] == ["importing", "importing", "writing", "success"]
    assert told[-1] == {"status": "success", "models": ["owl:latest"]}
    (stored,) = await asyncio.to_thread(state.models.manifests.list)
    assert stored.size_bytes == len(WEIGHTS) + 3


async def test_the_end_alone_can_be_asked_for(client: Client, archive: bytes) -> None:
    assert await taken(client, archive, "?stream=false") == (
        200,
        [{"status": "success", "models": ["owl:latest"]}],
    )


async def test_what_is_no_archive_is_refused(client: Client, state: AppState) -> None:
    status, told = await taken(client, b"GGUF" + bytes(5_000_000))
    assert (status, told) == (400, [{"error": "the archive is refused: it is no tar archive"}])
    assert not await asyncio.to_thread(files_of, state)


@pytest.mark.parametrize("content", [b"", b"junk", b"junk" * 200])
async def test_what_is_refused_is_told_nothing_of_before(client: Client, content: bytes) -> None:
    status, told = await taken(client, content)
    reason = "it is no tar archive" if content else "it is empty"
    assert (status, told) == (400, [{"error": f"the archive is refused: {reason}"}])


async def test_an_archive_that_is_cut_off_leaves_nothing(
    client: Client, state: AppState, archive: bytes
) -> None:
    _, told = await taken(client, archive[: len(archive) // 2])
    assert told[-1] == {"error": "the archive is refused: it is cut off, the end is missing"}
    assert {"status": "writing manifest"} not in told
    assert not await asyncio.to_thread(files_of, state)


async def test_a_client_that_leaves_leaves_nothing(client: Client, state: AppState, archive: bytes) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield archive[: len(archive) // 2]
        await asyncio.get_running_loop().create_future()

    sending = asyncio.ensure_future(taken(client, half()))
    await until(state, lambda files: bool(files))
    sending.cancel()
    await asyncio.wait([sending])
    await until(state, lambda files: not files)


async def test_a_client_that_leaves_an_export_holds_nothing(client: Client, state: AppState) -> None:
    await asyncio.to_thread(_make, state)
    async with client.post("/api/export", json={"model": "owl"}) as reply:
        await reply.content.readany()
    await state.models.delete(OWL)
    await until(state, lambda files: not files)


async def until(state: AppState, is_so: Callable[[list[Path]], bool]) -> None:
    """Look at the store until it is so: nobody is told of files that come and go."""
    async with asyncio.timeout(30):
        while not is_so(await asyncio.to_thread(files_of, state)):  # noqa: ASYNC110 - a thread is awaited
            await asyncio.sleep(0)


async def test_a_model_that_is_not_there_is_not_exported(client: Client) -> None:
    async with client.post("/api/export", json={"model": "fox"}) as reply:
        assert (reply.status, await reply.json()) == (404, {"error": "model 'fox:latest' not found"})


async def test_a_model_has_to_be_named(client: Client) -> None:
    async with client.post("/api/export", json={}) as reply:
        assert (reply.status, await reply.json()) == (400, {"error": "model is required"})


async def test_a_body_of_gigabytes_is_not_too_large(client: Client) -> None:
    status, told = await taken(client, header("blobs/../x", 1 << 40, modified_s=0) + bytes(2 << 20))
    assert status == 400
    assert "is no part of a model" in told[0]["error"]


class Queued(logging.Handler):
    """Records of the log, to be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.records: asyncio.Queue[logging.LogRecord] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.put_nowait(record)


async def test_an_export_that_we_break_off_is_not_logged_as_one_that_the_client_left(
    client: Client, state: AppState, caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread(_make, state)
    weights = max(files_of(state), key=lambda path: path.stat().st_size)
    await asyncio.to_thread(weights.write_bytes, WEIGHTS[:-1] + b"x")
    log, heard = logging.getLogger("orchestrator.api"), Queued()
    caplog.set_level("INFO", logger=log.name)
    log.addHandler(heard)
    try:
        with pytest.raises(aiohttp.ClientError):
            async with client.post("/api/export", json={"model": "owl"}) as reply:
                await reply.read()
        told = [await asyncio.wait_for(heard.records.get(), 10) for _ in range(2)]
    finally:
        log.removeHandler(heard)
    assert told[0].getMessage().startswith("export of owl:latest broke off: ")
    assert (told[1].getMessage(), vars(told[1])["status"]) == ("request", 200)
