"""A registry of other makers: what is pushed there comes back whole, with passwords and without."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from ollama import Client

from integration.docker_registry import PASSWORD, USER, docker_registry
from orchestrator.domain.names import ModelName
from orchestrator.registry.pull import Puller
from orchestrator.registry.push import Pusher
from orchestrator.registry.registries import Registries
from orchestrator.registry.settings import RegistrySettings
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Layer, Manifest
from tests.http_replay.daemon import Daemon, daemon_process
from tests.sample_models import smollm2

pytestmark = pytest.mark.timeout(300)

Orch = Callable[..., "Printed"]

PARTS = 5
"""Of the model: weights, template, system message, parameters, configuration."""


@dataclass(frozen=True, slots=True)
class Printed:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with docker_registry(tmp_path_factory.mktemp("plain")) as address:
        yield address


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry that wants a password."""
    with docker_registry(tmp_path_factory.mktemp("guarded"), has_password=True) as address:
        yield address


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, guarded: str) -> Iterator[Daemon]:
    """A daemon whose user is known to the guarded registry."""
    home = tmp_path_factory.mktemp("daemon")
    known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    (home / ".docker").mkdir()
    (home / ".docker" / "config.json").write_text(json.dumps({"auths": {guarded: {"auth": known}}}))
    with daemon_process(home) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def _smol(daemon: Daemon) -> None:
    """There is a model ``smol``, made of a small real one."""
    with closing(Client(f"http://{daemon.server.address}")) as client:
        digest = client.create_blob(smollm2())
        assert (
            client.create(
                "smol", files={"smol.gguf": digest}, system="Be brief.", parameters={"num_predict": 8}
            ).status
            == "success"
        )


@pytest.fixture
def orch(daemon: Daemon, tmp_path: Path) -> Orch:
    """The program, as a user of the daemon calls it."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OLLAMA_HOST": daemon.server.address}

    def call(*words: str) -> Printed:
        done = subprocess.run(
            [sys.executable, "-m", "orchestrator.cli", *words],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        return Printed(done.returncode, done.stdout, done.stderr)

    return call


def done(printed: Printed) -> str:
    assert printed.status == 0, printed.err
    return printed.out


def blobs_of(daemon: Daemon) -> set[str]:
    return {path.name for path in (daemon.log.parent / "models" / "blobs").iterdir()}


@pytest.mark.parametrize("kind", ["registry", "guarded"])
def test_a_model_that_was_pushed_and_deleted_comes_back_and_runs(
    orch: Orch, daemon: Daemon, kind: str, request: pytest.FixtureRequest
) -> None:
    name = f"{request.getfixturevalue(kind)}/lib/smol:v1"
    done(orch("cp", "smol", name))
    pushed = orch("push", "--insecure", name)
    assert done(pushed) == f"\nYou can find your model at:\n\n\t{name}\n"
    assert pushed.err.splitlines()[-1] == "success"
    before, card = blobs_of(daemon), done(orch("show", name))
    done(orch("rm", name, "smol"))
    assert len(before - blobs_of(daemon)) == PARTS
    done(orch("pull", "--insecure", name))
    assert done(orch("show", name)) == card
    assert blobs_of(daemon) == before
    assert done(orch("verify", name)).endswith(": all right\n")
    assert done(orch("run", name, "Say hi")).strip()
    done(orch("rm", name))


def test_run_fetches_a_model_that_is_missing(orch: Orch, registry: str) -> None:
    name = f"{registry}/lib/missing"
    done(orch("cp", "smol", name))
    done(orch("push", "--insecure", name))
    done(orch("rm", name, "smol"))
    answer = orch("run", "--insecure", name, "Say hi")
    assert done(answer).strip()
    assert answer.err.startswith("pulling manifest\n")
    done(orch("rm", name))


def test_a_second_push_sends_nothing_again(orch: Orch, registry: str) -> None:
    names = f"{registry}/lib/one", f"{registry}/lib/two"
    for name in names:
        done(orch("cp", "smol", name))
        done(orch("push", "--insecure", name))
    again = orch("push", "--insecure", names[0])
    assert again.err.count("100% ▕") == PARTS
    for name in names:
        done(orch("rm", name))


def test_damage_is_found_and_repaired_from_the_registry(orch: Orch, daemon: Daemon, registry: str) -> None:
    name = f"{registry}/lib/damaged"
    done(orch("cp", "smol", name))
    done(orch("push", "--insecure", name))
    largest = max((daemon.log.parent / "models" / "blobs").iterdir(), key=lambda path: path.stat().st_size)
    with largest.open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"not what was there")
    found = orch("verify", name)
    assert found.status == 1
    assert found.out.startswith(f"damaged: {largest.name.replace('-', ':')} of ")
    assert done(orch("verify", "--repair", "--insecure", name)).endswith(
        "its content is not what its digest says; fetched again\n5 blobs, 98 MB: all right\n"
    )
    assert done(orch("verify")).endswith(": all right\n")
    done(orch("rm", name))


def test_without_a_password_a_push_is_refused(orch: Orch, guarded: str) -> None:
    name = f"localhost:{guarded.partition(':')[2]}/lib/smol"
    done(orch("cp", "smol", name))
    refused = orch("push", "--insecure", name)
    assert refused.status == 1
    assert "Error: you are not authorized to push to this namespace" in refused.err
    done(orch("rm", name))


def test_the_python_client_pushes_and_pulls(daemon: Daemon, registry: str) -> None:
    name = f"{registry}/lib/python"
    with closing(Client(f"http://{daemon.server.address}")) as client:
        client.copy("smol", name)
        pushed = list(client.push(name, insecure=True, stream=True))
        client.delete(name)
        client.delete("smol")
        pulled = list(client.pull(name, insecure=True, stream=True))
        assert (pushed[-1].status, pulled[-1].status) == ("success", "success")
        assert {step.digest for step in pushed if step.digest and step.completed == step.total} >= {
            step.digest for step in pulled if step.digest
        }
        client.delete(name)


async def test_a_blob_in_many_parts_arrives_whole(registry: str, tmp_path: Path) -> None:
    content = os.urandom(5_000_000)
    store = ModelStore(StoreLayout(tmp_path / "models"))
    blob = await asyncio.to_thread(store.blobs.put, content)
    name = ModelName.parse(f"{registry}/lib/parts")
    await store.replace(name, Manifest(config=Layer(digest=str(blob.digest), size=blob.size_bytes)))
    registries = Registries(RegistrySettings(key_folder=tmp_path / "keys"))
    pushing = Pusher(registries, store, least_part_bytes=300_000).push(name.full, insecure=True)
    assert [step async for step in pushing][-1].status == "success"
    await store.delete(name)
    pulling = Puller(store, registries).pull(name, insecure=True)
    assert [step async for step in pulling][-1].status == "success"
    assert await asyncio.to_thread(store.blobs.read, blob.digest) == content
