"""Models made by a daemon whose engine brings a llama-quantize, which here copies what it is given."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine_replay.stand_in import StandIn, stand_in
from tests.gguf_builder import Tensor, build_gguf
from tests.http_replay.daemon import daemon_process
from tests.http_replay.transport import Answer, Server


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[StandIn]:
    folder = tmp_path / "engine"
    folder.mkdir()
    with stand_in(folder) as engine:
        yield engine


@pytest.fixture
def server(engine: StandIn, tmp_path: Path) -> Iterator[Server]:
    with daemon_process(tmp_path, engine.environment) as daemon:
        yield daemon.server


def toy_weights() -> bytes:
    """Half precision as far as is said; the tensors are not in the order of llama.cpp."""
    metadata = {
        "general.architecture": "llama",
        "general.file_type": 1,
        "llama.block_count": 1,
        "llama.context_length": 4096,
        "tokenizer.ggml.model": "gpt2",
    }
    tensors = [Tensor("token_embd.weight", (32, 4), "F16"), Tensor("output.weight", (32, 4), "F16")]
    return build_gguf(metadata, tensors)


def create(server: Server, **members: Any) -> Answer:
    """Upload the toy and make a model of it."""
    content = toy_weights()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    body = base64.b64encode(content).decode()
    uploaded = server.send({"method": "POST", "path": f"/api/blobs/{digest}", "body_base64": body})
    assert uploaded.status in (200, 201)
    model = {"model": "toy", "files": {"m.gguf": digest}, "template": "{{ .Prompt }}", **members}
    return server.send({"method": "POST", "path": "/api/create", "json": model})


def blob(tmp_path: Path, content: bytes) -> str:
    return str(tmp_path / "models" / "blobs" / f"sha256-{hashlib.sha256(content).hexdigest()}")


def loaded_file(engine: StandIn, server: Server) -> str:
    """What the engine is told to load for the toy."""
    request = {"model": "toy", "prompt": "x", "stream": False}
    answer = server.send({"method": "POST", "path": "/api/generate", "json": request})
    assert answer.status == 200, answer
    argv = engine.heard("launch")["argv"]
    path: str = argv[argv.index("--model") + 1]
    return path


def test_what_llama_quantize_copied_is_loaded(engine: StandIn, server: Server, tmp_path: Path) -> None:
    answer = create(server)
    assert [step["status"].partition(" sha256")[0] for step in answer.body] == [
        "parsing GGUF", "verifying conversion", "using existing layer", "creating new layer",
        "writing manifest", "success",
    ]  # fmt: skip
    assert loaded_file(engine, server) == blob(tmp_path, toy_weights())


def test_every_type_is_left_to_llama_quantize(engine: StandIn, server: Server, tmp_path: Path) -> None:
    answer = create(server, quantize="q4_K_M")
    assert answer.body[-1] == {"status": "success"}, answer.body
    assert loaded_file(engine, server) == blob(tmp_path, toy_weights())


def test_what_llama_quantize_refuses_is_no_model(engine: StandIn, server: Server, tmp_path: Path) -> None:
    (engine.library / "llama-quantize").write_text("#!/bin/sh\necho 'invalid n_rot' >&2\nexit 1\n")
    answer = create(server)
    assert answer.body[-1]["error"] == (
        "failed to validate GGUF with llama-quantize without compatibility patches: "
        "llama-quantize failed: exit status 1"
    )
    blobs = tmp_path / "models" / "blobs"
    assert [str(path) for path in blobs.iterdir()] == [blob(tmp_path, toy_weights())]
