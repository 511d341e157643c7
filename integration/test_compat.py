"""Published models in a form of their own, run by real engines: each says what the stock model says.

The stock engine gets views that are files of their own, our build gets overlays.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from integration.toy import post
from orchestrator.compat.views import Views
from orchestrator.doctor.bare import BareEngine, bare_engine
from orchestrator.process.address import Address, UnixAddress
from orchestrator.runners.engines import EngineInfo, EngineKind
from orchestrator.store.layout import StoreLayout
from tests.compat.conftest import stored
from tests.compat.gemma import published_gemma
from tests.compat.pairs import Pair, pairs
from tests.engine_choice import each_kind, engine
from tests.http_replay.daemon import daemon_process
from tests.http_replay.transport import Answer, Server
from tests.sample_models import gemma3

pytestmark = pytest.mark.timeout(180)

PROMPT = "A dog runs over the hill, and then it sleeps."
TOLERANCE = 1e-3
TOWER_NOT_TINY = {
    "deepseekocr": "the engine takes the sizes of both its towers for granted",
    "gemma4-sound": "the engine wants a whole conformer",
}
"""Towers of which only names, shapes and numbers are compared, see tests/compat → why."""

PAIRS = [pair for pair in pairs() if pair.text is not None]
Logits = list[tuple[int, float]]


@pytest.fixture(scope="module", params=list(each_kind()))
def info(request: pytest.FixtureRequest) -> EngineInfo:
    return engine(request.param)


@dataclass(frozen=True, slots=True)
class Said:
    """What a model answered."""

    text: Logits | list[float]
    """Tokens with their logarithms of probability, or a vector."""
    image: Logits | None


@contextmanager
def started(
    info: EngineInfo, text: Path, projector: Path | None, environ: Mapping[str, str], *flags: str
) -> Iterator[BareEngine]:
    """An engine that loads these files. The caller waits until it is ready."""

    def arguments(address: Address, _marker: str) -> Sequence[str]:
        assert isinstance(address, UnixAddress)
        files = ["--model", str(text), *(["--mmproj", str(projector)] if projector else [])]
        size = ("-c", "1024", "-np", "1", "-t", "1", "--fit", "off")
        return (*files, "--host", str(address.path), "--offline", "--no-webui", "--no-warmup", *size, *flags)

    with bare_engine(info, arguments, {**os.environ, **environ}) as running:
        yield running


def ask(running: BareEngine, *, embeds: bool, sees: bool) -> Said:
    if embeds:
        answer = running.http.post("/embedding", json={"content": PROMPT}).raise_for_status().json()
        return Said(answer[0]["embedding"][0], None)
    text = _completed(running, PROMPT)
    if not sees:
        return Said(text, None)
    prompt = {
        "prompt_string": f"{PROMPT} {running.marker} What is it?",
        "multimodal_data": [base64.b64encode(picture()).decode()],
    }
    return Said(text, _completed(running, prompt))


def _completed(running: BareEngine, prompt: str | Mapping[str, Any]) -> Logits:
    request = {"prompt": prompt, "n_predict": 8, "temperature": 0, "n_probs": 1, "ignore_eos": True}
    answer = running.http.post("/completion", json=request).raise_for_status().json()
    return [(token["id"], token["logprob"]) for token in answer["completion_probabilities"]]


def picture() -> bytes:
    """A few colours that no two patches have in common."""
    image = Image.new("RGB", (120, 90))
    image.putdata([((x * 2) % 256, (y * 3) % 256, (x * y) % 256) for y in range(90) for x in range(120)])
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def assert_same(one: Said, other: Said) -> None:
    for left, right in ((one.text, other.text), (one.image, other.image)):
        assert (left is None) == (right is None)
        if left is not None and right is not None:
            assert np.array(left) == pytest.approx(np.array(right), abs=TOLERANCE)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_published_model_says_what_the_stock_model_says(
    pair: Pair, info: EngineInfo, tmp_path: Path
) -> None:
    assert pair.text is not None
    sees = pair.projector is not None and pair.id not in TOWER_NOT_TINY
    embeds = any(key.endswith(".pooling_type") for key in pair.text.metadata)
    flags = ("--embedding",) if embeds else ()
    stock = tmp_path / "stock.gguf"
    stock.write_bytes(pair.text.gguf())
    tower = tmp_path / "tower.gguf"
    if pair.projector is not None:
        tower.write_bytes(pair.projector.gguf())
    layout = StoreLayout(tmp_path / "models")
    layout.blobs.mkdir(parents=True)
    views = Views(layout, tmp_path / "cache", overlays=info.reads_overlays)
    prepared = asyncio.run(views.prepared(stored(layout, pair.published.gguf())))
    files = prepared.files
    projector = files.projectors[0] if sees else None
    with ExitStack() as stack:
        engines = [
            stack.enter_context(started(info, stock, tower if sees else None, {}, *flags)),
            stack.enter_context(started(info, files.weights, projector, prepared.environ, *flags)),
        ]
        for running in engines:
            running.wait_until_ready()
        of_stock, of_view = (ask(running, embeds=embeds, sees=sees) for running in engines)
    assert of_stock.text
    assert not sees or of_stock.image
    assert_same(of_stock, of_view)


def test_without_leave_no_engine_reads_another_file(info: EngineInfo, tmp_path: Path) -> None:
    """An overlay is a damaged file to an engine that was not told where sources are."""
    pair = next(pair for pair in PAIRS if pair.id == "olmo3")
    layout = StoreLayout(tmp_path / "models")
    layout.blobs.mkdir(parents=True)
    model = stored(layout, pair.published.gguf())
    files = asyncio.run(Views(layout, tmp_path / "cache", overlays=True).prepared(model)).files
    with started(info, files.weights, None, {}) as running:
        assert running.process.wait(60) != 0
        assert any("not within the file bounds" in line for line in running.log())


# through a daemon


@dataclass(frozen=True, slots=True)
class Home:
    """A daemon, and the directory its store is in."""

    server: Server
    path: Path

    def put(self, name: str, *files: bytes | Path) -> None:
        """A model of weights and perhaps a projector, as a pull would leave it."""
        kinds = ("model", "projector")
        layers = [
            self._blob(f"application/vnd.ollama.image.{kind}", f)
            for kind, f in zip(kinds, files, strict=False)
        ]
        layers.append(self._blob("application/vnd.ollama.image.template", b"{{ .Prompt }}"))
        config = json.dumps({"model_format": "gguf", "model_family": "gemma3"}).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": self._blob("application/vnd.docker.container.image.v1+json", config),
            "layers": layers,
        }
        path = self.path / "models" / "manifests" / "registry.ollama.ai" / "library" / name / "latest"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(manifest))

    def _blob(self, kind: str, content: bytes | Path) -> dict[str, Any]:
        data = content if isinstance(content, bytes) else content.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        blob = self.path / "models" / "blobs" / f"sha256-{digest}"
        if isinstance(content, bytes):
            blob.write_bytes(content)
        else:
            blob.symlink_to(content)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    def generate(self, name: str, **more: Any) -> Answer:
        options = {"temperature": 0, "num_predict": 12, "num_ctx": 2048}
        body = {"model": name, "prompt": PROMPT, "stream": False, "options": options, "keep_alive": 0}
        return post(self.server, "/api/generate", {**body, **more})


@pytest.fixture(scope="module")
def home(info: EngineInfo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    native = {"ORCH_LLAMA_SERVER": info.argv_prefix[0]} if info.kind is EngineKind.NATIVE else {}
    embedded = {"ORCH_ENGINE": "embedded"} if info.kind is EngineKind.EMBEDDED else {}
    path = tmp_path_factory.mktemp("home")
    with daemon_process(path, {**native, **embedded}) as daemon:
        yield Home(daemon.server, path)


def test_a_daemon_shows_pictures_to_a_published_model(home: Home) -> None:
    pair = next(pair for pair in PAIRS if pair.id == "gemma3")
    assert pair.text is not None
    assert pair.projector is not None
    home.put("published", pair.published.gguf())
    home.put("stock", pair.text.gguf(), pair.projector.gguf())
    pictures = [base64.b64encode(picture()).decode()]
    seen, expected = (home.generate(name, images=pictures) for name in ("published", "stock"))
    assert (seen.status, expected.status) == (200, 200), seen
    assert seen.body["response"] == expected.body["response"]
    assert seen.body["prompt_eval_count"] == expected.body["prompt_eval_count"]
    assert seen.body["prompt_eval_count"] > home.generate("published").body["prompt_eval_count"]


def test_a_real_model_with_a_tower_added_answers_as_before(home: Home) -> None:
    home.put("gemma", gemma3())
    home.put("gemma-published", published_gemma())
    before, after = (home.generate(name, raw=True) for name in ("gemma", "gemma-published"))
    assert (before.status, after.status) == (200, 200), after.body
    assert len(before.body["response"]) > 10
    assert after.body["response"] == before.body["response"]


def test_a_published_model_with_a_part_missing_says_so(home: Home) -> None:
    pair = next(pair for pair in PAIRS if pair.id == "qwen25vl")
    damaged = pair.published.without_tensors("v.blk.0.ffn_up.weight".__eq__)
    home.put("damaged", damaged.gguf())
    answer = home.generate("damaged")
    assert answer.status == 500
    assert answer.body["error"].startswith(
        'qwen25vl model without tensor "v.blk.0.ffn_up.weight": this model may'
    )


def test_a_view_is_deleted_with_its_model(home: Home) -> None:
    pair = next(pair for pair in PAIRS if pair.id == "olmo3")
    home.put("short-lived", pair.published.gguf())
    assert home.generate("short-lived").status == 200
    views = home.path / "models" / "views"
    digest = hashlib.sha256(pair.published.gguf()).hexdigest()
    assert (views / f"sha256-{digest}").is_dir()
    answer = home.server.send({"method": "DELETE", "path": "/api/delete", "json": {"model": "short-lived"}})
    assert answer.status == 200
    assert not (views / f"sha256-{digest}").exists()
