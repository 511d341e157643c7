"""A daemon that wants API keys, and the clients that have one: each shows it in its own way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anthropic
import ollama
import openai
import pytest

from integration.cases.place import Place, place
from tests.http_replay.daemon import DaemonDied, daemon_process

KEY = "a-key-of-anna"
LAW = "# who may\nanna a-key-of-anna\n"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of keys."""
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text(LAW)
    return file


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Iterator[Place]:
    """A daemon that wants one of them."""
    with place(tmp_path_factory.mktemp("locked"), {"ORCH_API_KEYS_FILE": str(keys)}) as here:
        yield here


def test_the_ollama_client_takes_its_key_from_the_environment(
    locked: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"http://{locked.server.address}"
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    with (
        ollama.Client(address) as client,
        pytest.raises(ollama.ResponseError, match="wants an API key") as refused,
    ):
        client.list()
    assert refused.value.status_code == 401
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    with ollama.Client(address) as client:
        assert client.list().models == []


def test_the_openai_client_shows_its_key(locked: Place) -> None:
    address = f"http://{locked.server.address}/v1"
    with openai.OpenAI(base_url=address, api_key=KEY) as client:
        client.models.list()
    with (
        openai.OpenAI(base_url=address, api_key="none") as client,
        pytest.raises(openai.AuthenticationError, match="not one that this server knows"),
    ):
        client.models.list()


def test_the_anthropic_client_shows_its_key(locked: Place) -> None:
    address = f"http://{locked.server.address}"
    for key, error in (("none", anthropic.AuthenticationError), (KEY, anthropic.NotFoundError)):
        with anthropic.Anthropic(base_url=address, api_key=key) as client, pytest.raises(error):
            client.messages.create(model="none", max_tokens=1, messages=[{"role": "user", "content": "hi"}])


def test_the_command_line_shows_the_key_of_the_environment(locked: Place) -> None:
    def listed(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "orchestrator.cli", "list"],
            env={"OLLAMA_HOST": locked.server.address, "HOME": "/nowhere", **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    refused = listed()
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("Error: this server wants an API key: ")
    assert listed(OLLAMA_API_KEY=KEY).returncode == 0


def test_a_key_can_be_taken_away_while_the_daemon_runs(locked: Place, keys: Path) -> None:
    with openai.OpenAI(base_url=f"http://{locked.server.address}/v1", api_key=KEY) as client:
        client.models.list()
        try:
            keys.write_text("bert another-key\n")
            with pytest.raises(openai.AuthenticationError):
                client.models.list()
        finally:
            keys.write_text(LAW)
        client.models.list()
    assert KEY not in locked.log_file.read_text()


def test_a_daemon_whose_keys_cannot_be_read_does_not_start(tmp_path: Path) -> None:
    environment = {"ORCH_API_KEYS_FILE": str(tmp_path / "none")}
    with pytest.raises(DaemonDied, match="no such file or directory"), daemon_process(tmp_path, environment):
        pass
