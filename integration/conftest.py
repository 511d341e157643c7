"""What several integration tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from ollama import Client

from integration.cases.place import PLAIN, THINKING, TOOLS, Place, place
from orchestrator.runners.engines import EngineKind
from tests.engine_choice import CHOSEN
from tests.http_replay.daemon import daemon_process
from tests.sample_models import minilm, smollm2

CHAT_MODEL = "smollm2"
EMBEDDING_MODEL = "minilm"

OVER_A_SCRIPT = {
    *("scripted_place", "shared_place", "one_place", "open_place", "strict_place", "scripted", "locked"),
    *("start", "shared_server", "rooms"),
}
"""Fixtures that start a daemon over a scripted engine."""
OVER_AN_ENGINE = {"real_daemon", "real"}
"""Fixtures that start one over the chosen engine."""

_ENCODER_FILES = (
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
)


def pytest_sessionstart() -> None:
    """Give each of several workers cores of its own, and so its daemons and their engines.

    Two engines whose threads share cores slow each other down many times over.
    """
    if (worker := os.environ.get("PYTEST_XDIST_WORKER")) is None or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    number, workers = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.sched_setaffinity(0, cores[number::workers] or cores)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the run on the embedded engine what no engine takes part in.

    A scripted engine takes the place of the chosen one, so a second run would repeat the first.
    """
    if CHOSEN is EngineKind.EMBEDDED:
        return
    repeated = [item for item in items if _only_over_a_script(item)]
    items[:] = [item for item in items if not _only_over_a_script(item)]
    config.hook.pytest_deselected(items=repeated)


@pytest.fixture(scope="session")
def real_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a daemon with the engine that is installed and two real models, made through its API."""
    with daemon_process(tmp_path_factory.mktemp("real")) as daemon:
        with closing(Client(f"http://{daemon.server.address}")) as client:
            _create(client, CHAT_MODEL, {"smollm2.gguf": smollm2()})
            _create(client, EMBEDDING_MODEL, {name: minilm(name) for name in _ENCODER_FILES})
        yield daemon.server.address


@pytest.fixture(scope="session")
def scripted_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A daemon over a scripted engine, with one model for each way of answering."""
    with place(tmp_path_factory.mktemp("scripted")) as here:
        here.model("plain", template=PLAIN)
        here.model("tools", template=TOOLS)
        here.model("thinking", template=THINKING)
        here.native("native")
        here.embedder()
        yield here


@pytest.fixture
def here(scripted_place: Place) -> Place:
    """The same, its engine without any script."""
    scripted_place.script()
    return scripted_place


def _create(client: Client, name: str, files: dict[str, Path]) -> None:
    digests = {file: client.create_blob(path) for file, path in files.items()}
    assert client.create(name, files=digests).status == "success"


def _only_over_a_script(item: pytest.Item) -> bool:
    fixtures = set(item.fixturenames) if isinstance(item, pytest.Function) else set()
    return bool(fixtures & OVER_A_SCRIPT) and not fixtures & OVER_AN_ENGINE
