"""Pulls side by side, pulls over an older copy, pulls onto a full disk, slow pulls."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from orchestrator.domain.names import ModelName
from orchestrator.domain.progress import Progress
from orchestrator.registry.errors import PullStopped, RegistryError
from orchestrator.registry.parts import PartSizes
from orchestrator.registry.settings import RegistrySettings
from orchestrator.store.errors import DiskFull
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from tests.registry.hostile import Registry, allows, answers, blobs, cuts, is_late, only, sha256, waits
from tests.registry.pulling import Pulls

MIB = 1 << 20
BIG, OTHER = blobs(2, 2 * MIB, seed=3)
(SMALL,) = blobs(1, 1000, seed=4)


async def until_bytes(steps: asyncio.Queue[Progress]) -> None:
    """Wait for news of bytes that have come."""
    while not (await steps.get()).completed_bytes:
        pass


class Client:
    """A client that pulls, in the background until it leaves."""

    def __init__(self, pulls: Pulls, name: str) -> None:
        self.steps: asyncio.Queue[Progress] = asyncio.Queue()
        self.task = asyncio.ensure_future(self._run(pulls, name))

    async def _run(self, pulls: Pulls, name: str) -> None:
        async with aclosing(pulls.steps(name)) as steps:
            async for step in steps:
                self.steps.put_nowait(step)

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


async def under_way(pulls: Pulls, *names: str) -> list[Client]:
    """A client for each name, when some bytes have come to all of them."""
    clients = [Client(pulls, name) for name in names]
    for client in clients:
        await until_bytes(client.steps)
    return clients


@pytest.fixture
async def gate(hostile: Registry) -> AsyncIterator[asyncio.Event]:
    """Until it is set, only the beginning of ``BIG`` is sent."""
    gate = asyncio.Event()
    hostile.fail_always("blob", only(BIG, waits(gate, 300_000)))
    yield gate
    gate.set()


# case B131
async def test_two_clients_share_one_download(hostile: Registry, pulls: Pulls, gate: asyncio.Event) -> None:
    name = hostile.add("ns/m", BIG)
    clients = await under_way(pulls, name, name, name)
    gate.set()
    await asyncio.gather(*(client.task for client in clients))
    assert pulls.has(BIG)
    assert hostile.sent_bytes == sum(map(len, hostile.blobs.values()))


async def test_two_models_share_the_download_of_a_layer(
    hostile: Registry, pulls: Pulls, gate: asyncio.Event
) -> None:
    names = [hostile.add("ns/m", BIG), hostile.add("ns/n", BIG, SMALL)]
    clients = await under_way(pulls, *names)
    gate.set()
    await asyncio.gather(*(client.task for client in clients))
    assert hostile.sent_bytes == sum(map(len, hostile.blobs.values()))


@pytest.mark.parametrize("leaving", [0, 1])
async def test_one_client_that_leaves_does_not_stop_the_other(
    hostile: Registry, pulls: Pulls, gate: asyncio.Event, leaving: int
) -> None:
    name = hostile.add("ns/m", BIG)
    clients = await under_way(pulls, name, name)
    await clients[leaving].leave()
    gate.set()
    await clients[1 - leaving].task
    assert pulls.has(BIG)
    assert hostile.sent_bytes == sum(map(len, hostile.blobs.values()))


@pytest.mark.usefixtures("gate")
async def test_the_last_client_that_leaves_stops_the_download_and_keeps_the_parts(
    hostile: Registry, pulls: Pulls
) -> None:
    name = hostile.add("ns/m", BIG)
    clients = await under_way(pulls, name, name)
    await asyncio.gather(*(client.leave() for client in clients))
    assert any(file.endswith("-partial-0") for file in pulls.files())
    sent = hostile.sent_bytes
    await pulls.pull(name)
    assert hostile.sent_bytes - sent < len(BIG)


@pytest.mark.usefixtures("gate")
async def test_a_daemon_that_stops_ends_downloads_and_keeps_the_parts(
    hostile: Registry, pulls: Pulls
) -> None:
    name = hostile.add("ns/m", BIG)
    clients = await under_way(pulls, name, name)
    pulls.puller.stop()
    for client in clients:
        with pytest.raises(PullStopped):
            await client.task
    assert any(file.endswith("-partial-0") for file in pulls.files())


async def test_who_comes_while_the_last_one_leaves_begins_again(
    hostile: Registry, pulls: Pulls, gate: asyncio.Event
) -> None:
    name = hostile.add("ns/m", BIG)
    (first,) = await under_way(pulls, name)
    leaving = asyncio.ensure_future(first.leave())
    await asyncio.sleep(0)
    gate.set()
    await pulls.pull(name)
    await leaving
    assert pulls.has(BIG)


# case B130
async def test_the_older_copy_stays_until_the_new_one_is_complete(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    await pulls.pull(name)
    before = hostile.manifests["ns/m/latest"]
    hostile.add("ns/m", OTHER)
    hostile.fail_always("blob", only(OTHER, cuts(500_000), *[answers(500)] * 40))
    with pytest.raises(RegistryError):
        await pulls.pull(name)
    assert pulls.store.layout.manifest(ModelName.parse(name)).read_bytes() == before
    assert pulls.has(BIG)
    assert [model.name.short for model in await pulls.store.list()] in ([], [f"{name}:latest"])
    hostile.faults.clear()
    statuses = [step.status for step in await pulls.pull(name)]
    assert statuses[-2:] == ["removing unused layers", "success"]
    assert pulls.has(OTHER)
    assert not pulls.has(BIG)


async def test_layers_that_another_model_uses_stay(hostile: Registry, pulls: Pulls) -> None:
    await pulls.pull(hostile.add("ns/n", BIG))
    await pulls.pull(hostile.add("ns/m", BIG))
    await pulls.pull(hostile.add("ns/m", OTHER))
    assert pulls.has(BIG)
    assert pulls.has(OTHER)


async def test_noprune_keeps_what_nothing_uses(
    hostile: Registry, tmp_path: Path, settings: RegistrySettings
) -> None:
    store = ModelStore(StoreLayout(tmp_path / "kept"), prunes=False)
    await store.start()
    pulls = Pulls(store, settings)
    await pulls.pull(hostile.add("ns/m", BIG))
    steps = await pulls.pull(hostile.add("ns/m", OTHER))
    assert "removing unused layers" not in [step.status for step in steps]
    assert pulls.has(BIG)


# case B131
async def test_a_model_deleted_meanwhile_takes_nothing_from_a_pull(
    hostile: Registry, pulls: Pulls, gate: asyncio.Event
) -> None:
    old = hostile.add("ns/old", SMALL)
    await pulls.pull(old)
    name = hostile.add("ns/m", SMALL, BIG)
    (client,) = await under_way(pulls, name)
    await pulls.store.delete(ModelName.parse(old))
    gate.set()
    await client.task
    assert pulls.has(SMALL)
    assert pulls.has(BIG)


# case B129
async def test_half_a_model_is_no_model(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", only(BIG, cuts(500_000), *[answers(500)] * 40))
    with pytest.raises(RegistryError):
        await pulls.pull(name)
    assert not await pulls.store.list()
    await pulls.store.start()
    assert any(file.endswith("-partial") for file in pulls.files())
    sent = hostile.sent_bytes
    hostile.faults.clear()
    await pulls.pull(name)
    assert hostile.sent_bytes - sent < len(BIG)


async def test_a_name_is_written_as_the_store_knows_it(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/model", SMALL)
    await pulls.pull(name)
    await pulls.pull(name.replace("model", "MODEL"))
    assert len(await asyncio.to_thread(lambda: list(pulls.store.manifests.names()))) == 1


async def test_a_blob_of_a_wrong_length_is_fetched_again(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", SMALL)
    await pulls.pull(name)
    blob = pulls.blobs / sha256(SMALL).replace(":", "-")
    blob.write_bytes(SMALL[:-1])
    await pulls.pull(name)
    assert blob.read_bytes() == SMALL


async def test_what_is_there_is_told_at_once(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG, SMALL)
    await pulls.pull(name)
    told = [step for step in await pulls.pull(name) if step.digest]
    assert [step.total_bytes for step in told][:2] == [len(BIG), len(SMALL)]
    assert all(step.total_bytes == step.completed_bytes for step in told)
    assert told[0].status == f"pulling {sha256(BIG)[7:19]}"


async def test_progress_only_grows(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.bytes_per_second = 8 * MIB
    told = [step for step in await pulls.pull(name) if step.digest == sha256(BIG)]
    assert told
    completed = [step.completed_bytes for step in told]
    assert completed == sorted(completed)
    assert completed[-1] == told[-1].total_bytes == len(BIG)


async def test_small_files_are_fetched_without_a_word(hostile: Registry, pulls: Pulls) -> None:
    steps = await pulls.pull(hostile.add("ns/m", *blobs(5, 300_000)))
    assert not [step for step in steps if step.digest]


async def test_a_small_file_that_takes_long_is_told_of(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.fail_always("blob", only(SMALL, is_late(1.5)))
    assert sha256(SMALL) in [step.digest for step in await pulls.pull(name)]


async def test_pulls_keep_to_the_rate(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    loop = asyncio.get_running_loop()
    before = loop.time()
    await pulls.pull(name, puller=pulls.other_puller(bytes_per_second=2 * MIB))
    assert loop.time() - before >= 0.8
    assert pulls.has(BIG)


async def test_many_connections_are_used_where_each_is_slow(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.bytes_per_second = MIB // 2
    before = hostile.connections
    await pulls.pull(name)
    assert hostile.connections - before >= 3
    assert pulls.has(BIG)


async def test_a_server_that_wants_fewer_connections_gets_fewer(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.bytes_per_second = MIB // 2
    hostile.fail_always("blob", allows(hostile, 1))
    await pulls.pull(name, puller=pulls.other_puller(streams=1))
    pulls.assert_sound()
    assert pulls.has(BIG)


def ranges(hostile: Registry) -> list[int]:
    """The lengths of the ranges of the large blob that were asked for."""
    asked = [request.headers.get("range", "") for request in hostile.asked("blob")]
    numbers = [re.findall(r"\d+", text) for text in asked if text]
    return [int(last) - int(first) + 1 for first, last in numbers]


async def test_a_near_server_is_asked_for_little_at_a_time(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG * 8)
    await pulls.pull(name, puller=pulls.other_puller(sizes=PartSizes()))
    assert max(ranges(hostile)) == MIB


async def test_what_seems_near_may_be_a_tunnel(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG * 8)
    hostile.fail_always("blob", is_late(0.05))
    await pulls.pull(name, puller=pulls.other_puller(sizes=PartSizes()))
    assert max(ranges(hostile)) > 8 * MIB
    assert len(ranges(hostile)) < 8


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("file systems may not be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


# case B125
async def test_a_full_disk_is_told_and_survived(
    hostile: Registry, settings: RegistrySettings, small_disk: Path
) -> None:
    store = ModelStore(StoreLayout(small_disk / "models"))
    await store.start()
    pulls = Pulls(store, settings)
    large, fitting = blobs(2, 3 * MIB, seed=9)
    name = hostile.add("ns/large", large, OTHER)
    with pytest.raises(DiskFull, match=r"no space left on device: \d+ bytes needed, \d+ free") as caught:
        await pulls.pull(name)
    assert caught.value.hint
    assert not hostile.asked("blob")

    gate = asyncio.Event()
    name = hostile.add("ns/fits", fitting)
    hostile.fail_always("blob", only(fitting, waits(gate, 300_000)))
    (client,) = await under_way(pulls, name)
    filling = small_disk / "filling"
    await asyncio.to_thread(filling.write_bytes, b"x" * (2 * MIB))
    gate.set()
    with pytest.raises(DiskFull, match="no space left on device"):
        await client.task
    pulls.assert_sound()
    assert not await store.list()
    assert any(file.endswith("-partial") for file in pulls.files())
    sent = hostile.sent_bytes
    filling.unlink()
    await pulls.pull(hostile.add("ns/small", SMALL))
    await pulls.pull(name)
    assert pulls.has(fitting)
    assert hostile.sent_bytes - sent < len(fitting)
