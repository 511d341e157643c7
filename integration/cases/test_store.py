"""A store with damage in it, and changes that do not come to their end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from integration.cases.place import PLAIN, Place, place
from integration.toy import get, post, send_body
from tests.gguf_builder import build_gguf
from tests.http_replay.daemon import daemon_process

LIBRARY = Path("manifests/registry.ollama.ai/library")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Place]:
    """A place whose store a test may damage."""
    with place(tmp_path) as own:
        own.model("good", template=PLAIN)
        yield own


def store(own: Place) -> Path:
    return own.log_file.parent / "models"


def names(own: Place) -> list[str]:
    return sorted(model["name"] for model in get(own.server, "/api/tags").body["models"])


# case B128
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\0" * 100])
def test_a_broken_manifest_can_be_removed_and_replaced(own: Place, content: bytes) -> None:
    manifest = store(own) / LIBRARY / "broken" / "latest"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(content)
    assert names(own) == ["good:latest"]
    own.script()
    own.forget("broken")
    assert not manifest.exists()
    assert names(own) == ["good:latest"]
    assert "broken" not in own.log().replace("/api/delete", "")
    own.model("broken", template=PLAIN)
    own.script()
    assert names(own) == ["broken:latest", "good:latest"]
    assert "WARN" not in own.log()
    assert own.chat("broken", "x").status == 200


# case B128
def test_a_broken_manifest_can_be_overwritten(own: Place) -> None:
    manifest = store(own) / LIBRARY / "broken" / "latest"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    own.model("broken", template=PLAIN)
    assert own.chat("broken", "x").status == 200


# case B129
def test_leavings_of_broken_downloads_harm_nobody(own: Place) -> None:
    blobs = store(own) / "blobs"
    digest = f"sha256-{hashlib.sha256(b'half').hexdigest()}"
    for name in (
        f"{digest}-partial",
        f"{digest}-partial-0",
        f"{digest}-partial-12",
        "sha256-short",
        "tmp-x.partial",
    ):
        (blobs / name).write_bytes(b"ha")
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": digest.replace("-", ":"), "size": 4}
    manifest = {"schemaVersion": 2, "config": layer, "layers": [layer]}
    unfinished = store(own) / LIBRARY / "unfinished" / "latest"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_text(json.dumps(manifest))
    assert "good:latest" in names(own)
    assert own.chat("good", "x").status == 200
    answer = own.chat("unfinished", "x")
    assert 400 <= answer.status < 600
    assert answer.body["error"]
    assert not own.events("launch")[1:]


# case B130
def test_an_update_that_breaks_off_leaves_the_older_copy_in_use(own: Place) -> None:
    new = build_gguf({"general.architecture": "llama", "general.name": "two"})
    digest = f"sha256:{hashlib.sha256(new).hexdigest()}"
    cut = send_body(own.server, f"/api/blobs/{digest}", new[:-10])
    assert cut.status == 400
    update = {"model": "good", "files": {"m.gguf": digest}, "stream": False}
    assert post(own.server, "/api/create", update).status >= 400
    assert own.chat("good", "x").status == 200
    assert names(own) == ["good:latest"]


# case B144
def test_one_damaged_header_in_a_big_library_costs_nothing(tmp_path: Path) -> None:
    with place(tmp_path) as own:
        for number in range(30):
            own.model(f"model{number}", template=PLAIN)
        own.unload()
    blobs = tmp_path / "models" / "blobs"
    weights = next(path for path in blobs.iterdir() if path.read_bytes()[:4] == b"GGUF")
    content = weights.read_bytes()
    weights.write_bytes(content[:16] + (2**61).to_bytes(8, "little") + content[24:])
    with daemon_process(tmp_path) as daemon:
        models = get(daemon.server, "/api/tags").body["models"]
        damaged = [model["name"] for model in models if model.get("damage")]
        assert (len(models), len(damaged)) == (30, 1)
        answer = post(daemon.server, "/api/show", {"model": damaged[0]})
        assert answer.status >= 400
        assert psutil.Process(daemon.process.pid).memory_info().rss < 150 << 20
