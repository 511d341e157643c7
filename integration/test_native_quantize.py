"""Recorded quantizations of whole model folders, with the llama-quantize of a native build."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.files.gguf import read_header
from orchestrator.runners.engines import EngineKind
from tests.create.convert.model_folders import write_folder
from tests.engine_choice import engine, why_not
from tests.golden_records import Record, cases
from tests.http_replay.daemon import daemon_process
from tests.http_replay.transport import Server

pytestmark = [
    pytest.mark.skipif(bool(why_not(EngineKind.NATIVE)), reason=why_not(EngineKind.NATIVE)),
    pytest.mark.timeout(120),
]

NOT_CONVERTED = re.compile(r"unsupported|not supported|unknown architecture|no converter", re.IGNORECASE)
"""What is said of a folder whose architecture is not read yet."""

DROPPED = "rotary_emb.inv_freq"
"""Recorded files have it, and engines refuse them for it."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quantize")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    """A daemon with the native engine."""
    with daemon_process(home, {"ORCH_LLAMA_SERVER": engine(EngineKind.NATIVE).argv_prefix[0]}) as daemon:
        yield daemon.server


def upload(server: Server, content: bytes) -> str:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    body = base64.b64encode(content).decode()
    answer = server.send({"method": "POST", "path": f"/api/blobs/{digest}", "body_base64": body})
    assert answer.status in (200, 201)
    return digest


def weights(home: Path, server: Server) -> Path:
    """The file of the model that was made last."""
    answer = server.send({"method": "POST", "path": "/api/show", "json": {"model": "made"}})
    match = re.search(r"^FROM (\S+)$", answer.body["modelfile"], re.MULTILINE)
    assert match
    return Path(match[1].replace("$MODELS", str(home / "models")))


@pytest.mark.parametrize("record", cases("convert/quantize.jsonl"))
def test_a_folder_is_quantized_as_recorded(
    record: Record, server: Server, home: Path, tmp_path: Path
) -> None:
    folder = write_folder(record["in"]["folder"], tmp_path)
    files = {name: upload(server, path.read_bytes()) for name, path in folder.items()}
    body: dict[str, Any] = {"model": "made", "files": files, "quantize": record["in"]["quantize"]}
    answer = server.send({"method": "POST", "path": "/api/create", "json": body})
    steps = answer.body if isinstance(answer.body, list) else [answer.body]
    error = steps[-1].get("error", "")
    if NOT_CONVERTED.search(error) and ("out" in record or error != record["error"]):
        pytest.skip(f"{record['architecture']}: {error}")
    if "out" not in record:
        assert error == record["error"]
        return
    assert not error
    header = read_header(weights(home, server))
    assert header.config.uint("general.file_type") == record["out"]["general.file_type"]
    found = {tensor.name: tensor.type for tensor in header.tensors}
    recorded = record["out"]["types"].items()
    assert found == {name: kind for name, kind in recorded if not name.endswith(DROPPED)}
