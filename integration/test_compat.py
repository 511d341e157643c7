"""Published models in a form of their own, run by real engines: each says what the stock model says.

The stock engine gets views that are files of their own, our build gets overlays besides.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import wave
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
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
from tests.compat.stock import BLOCKS
from tests.compat.test_guessing import of_two_layers, without_head
from tests.engine_choice import each_kind, engine
from tests.http_replay.daemon import daemon_process
from tests.http_replay.transport import Answer, Server
from tests.sample_models import gemma3

pytestmark = pytest.mark.timeout(180)

PROMPT = "A dog runs over the hill, and then it sleeps."
TOLERANCE = 1e-3
FRAMES_PER_SECOND = 4
"""Of a film, as engines take them unless they are told otherwise."""
ASCII = "root ::= [ -~]+"
"""Engines keep back the logits of tokens that are half a letter."""
PAIRS = list(pairs())
BY_ID = {pair.id: pair for pair in PAIRS}
Logits = list[dict[int, float]]
"""Of each token said: the likeliest tokens with their logarithms of probability."""


@pytest.fixture(scope="module", params=list(each_kind()))
def info(request: pytest.FixtureRequest) -> EngineInfo:
    return engine(request.param)


@dataclass(frozen=True, slots=True)
class Said:
    """What a model answered."""

    tokens: list[int]
    logits: Logits


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


def said(running: BareEngine, *media: bytes) -> Said:
    """What a model says greedily, after it has seen or heard ``media``."""
    prompt = {
        "prompt_string": " ".join((PROMPT, *[running.marker] * len(media), "What is it?")),
        "multimodal_data": [base64.b64encode(content).decode() for content in media],
    }
    request = {"n_predict": 8, "temperature": 0, "n_probs": 4, "ignore_eos": True, "grammar": ASCII}
    body = {"prompt": prompt if media else PROMPT, **request}
    answer = running.http.post("/completion", json=body).raise_for_status().json()
    tokens = answer["completion_probabilities"]
    assert len(tokens) == request["n_predict"]
    logits = [{likely["id"]: likely["logprob"] for likely in token["top_logprobs"]} for token in tokens]
    return Said([token["id"] for token in tokens], logits)


def vector(running: BareEngine) -> list[float]:
    answer = running.http.post("/embedding", json={"content": PROMPT}).raise_for_status().json()
    found: list[float] = answer[0]["embedding"][0]
    return found


def picture(*, blue: bool = False) -> bytes:
    """A few colours that no two patches have in common, or but one colour."""
    image = Image.new("RGB", (120, 90), "blue")
    if not blue:
        image.putdata([((x * 2) % 256, (y * 3) % 256, (x * y) % 256) for y in range(90) for x in range(120)])
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def film(*, seconds: int) -> bytes:
    """Moving colours, made by ffmpeg."""
    source = f"testsrc=duration={seconds}:size=160x120:rate=8"
    argv = ("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p")
    fragments = ("-movflags", "frag_keyframe+empty_moov", "-f", "mp4", "pipe:1")
    return subprocess.run([*argv, *fragments], check=True, stdout=subprocess.PIPE).stdout


def sound(*, silent: bool = False) -> bytes:
    """Half a second of a rising tone, or of nothing."""
    rate, seconds = 16000, 0.5
    times = np.arange(int(rate * seconds)) / rate
    waves = np.sin(2 * np.pi * (200 + 1500 * times) * times) * (0 if silent else 0.6)
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((waves * 32767).astype("<i2").tobytes())
    return content.getvalue()


def media_of(pair: Pair) -> list[tuple[bytes, bytes]]:
    """What the towers of a pair take in, each time with something else that is as large."""
    pictures = [(picture(), picture(blue=True))] if pair.sees else []
    sounds = [(sound(), sound(silent=True))] if pair.hears else []
    return pictures + sounds


@dataclass(frozen=True, slots=True)
class Files:
    """What an engine is started with."""

    weights: Path
    projector: Path | None
    environ: Mapping[str, str]


def stock_files(pair: Pair, folder: Path) -> Files:
    folder.mkdir(parents=True)
    weights = pair.text or pair.beside
    assert weights is not None
    (folder / "text.gguf").write_bytes(weights.gguf())
    if pair.projector is None:
        return Files(folder / "text.gguf", None, {})
    (folder / "tower.gguf").write_bytes(pair.projector.gguf())
    return Files(folder / "text.gguf", folder / "tower.gguf", {})


def views(pair: Pair, folder: Path, *, overlays: bool) -> Files:
    """What stands for the published form: files of their own, or overlays of it."""
    layout = StoreLayout(folder)
    layout.blobs.mkdir(parents=True)
    model = stored(layout, pair.published.gguf())
    if pair.beside is not None:
        model = replace(stored(layout, pair.beside.gguf()), projectors=(model.weights,))
    prepared = asyncio.run(Views(layout, folder / "cache", overlays=overlays).prepared(model))
    files = prepared.files
    assert bool(prepared.environ) == overlays
    return Files(files.weights, next(iter(files.projectors), None), prepared.environ)


@contextmanager
def both(
    pair: Pair, info: EngineInfo, folder: Path, *flags: str
) -> Iterator[tuple[BareEngine, list[BareEngine]]]:
    """An engine with the stock model, and one with each kind of view of the published one that it reads."""
    forms = [stock_files(pair, folder / "stock"), views(pair, folder / "whole", overlays=False)]
    if info.reads_overlays:
        forms.append(views(pair, folder / "overlay", overlays=True))
    with ExitStack() as stack:
        engines = [
            stack.enter_context(started(info, form.weights, form.projector, form.environ, *flags))
            for form in forms
        ]
        for running in engines:
            running.wait_until_ready()
        yield engines[0], engines[1:]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair.embeds], ids=lambda pair: pair.id)
def test_a_published_model_says_what_the_stock_model_says(
    pair: Pair, info: EngineInfo, tmp_path: Path
) -> None:
    """In words, about a picture, about a sound."""
    with both(pair, info, tmp_path) as (stock, others):
        assert_same(said(stock), [said(running) for running in others])
        for shown, another in media_of(pair):
            about = said(stock, shown)
            assert_same(about, [said(running, shown) for running in others])
            assert differs(about, said(stock, another)), "the tower is not looked at"


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.embeds], ids=lambda pair: pair.id)
def test_a_published_model_embeds_as_the_stock_model_does(
    pair: Pair, info: EngineInfo, tmp_path: Path
) -> None:
    with both(pair, info, tmp_path, "--embedding") as (stock, others):
        expected = vector(stock)
        for running in others:
            assert vector(running) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.guesses], ids=lambda pair: pair.id)
def test_a_published_head_guesses_right(pair: Pair, info: EngineInfo, tmp_path: Path) -> None:
    """The tiny models of this kind are such that a head with the right numbers is always right."""
    drafting = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3")
    with both(pair, info, tmp_path, *drafting) as (stock, others):
        for running in (stock, *others):
            request = {"prompt": PROMPT, "n_predict": 24, "temperature": 0, "ignore_eos": True}
            timings = running.http.post("/completion", json=request).raise_for_status().json()["timings"]
            assert timings["draft_n_accepted"] == timings["draft_n"] > 0


def test_a_head_of_two_layers_is_refused_by_engines_and_left_out_of_views(
    info: EngineInfo, tmp_path: Path
) -> None:
    pair = BY_ID["qwen35-guessing"]
    assert pair.text is not None
    first = f"blk.{BLOCKS}."
    second = [
        replace(tensor, name=name.replace(first, f"blk.{BLOCKS + 1}."))
        for name, tensor in pair.text.tensors.items()
        if name.startswith(first) and ".nextn." not in name
    ]
    stock = pair.text.with_tensors(second).with_keys({".nextn_predict_layers": 2, ".block_count": BLOCKS + 2})
    files = stock_files(replace(pair, text=stock), tmp_path / "stock")
    with started(info, files.weights, None, {}) as running:
        assert running.process.wait(60) != 0
        assert any(f"blk.{BLOCKS + 1}.nextn.eh_proj.weight' not found" in line for line in running.log())
    halved = replace(pair, published=of_two_layers(pair.published), text=without_head(pair.text))
    with both(halved, info, tmp_path / "halved") as (bare, others):
        assert_same(said(bare), [said(running) for running in others])


def assert_same(expected: Said, others: Iterable[Said]) -> None:
    for found in others:
        assert found.tokens == expected.tokens
        assert found.logits == [pytest.approx(likely, abs=TOLERANCE) for likely in expected.logits]


def differs(one: Said, other: Said) -> bool:
    return one.logits[0] != pytest.approx(other.logits[0], abs=TOLERANCE)


def test_without_leave_no_engine_reads_another_file(info: EngineInfo, tmp_path: Path) -> None:
    """An overlay is a damaged file to an engine that was not told where sources are."""
    pair = BY_ID["olmo3"]
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
        path.parent.mkdir(parents=True, exist_ok=True)
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


@pytest.mark.parametrize(
    ("model", "medium"),
    [("gemma3", picture()), ("llava", picture()), ("gemma4-sound", picture()), ("gemma4-sound", sound())],
    ids=["gemma3-picture", "llava-picture", "gemma4-picture", "gemma4-sound"],
)
def test_a_daemon_shows_media_to_a_published_model(model: str, medium: bytes, home: Home) -> None:
    pair = BY_ID[model]
    assert pair.projector is not None
    weights = pair.text or pair.beside
    assert weights is not None
    published = [pair.beside, pair.published] if pair.beside else [pair.published]
    home.put(f"{model}-published", *(part.gguf() for part in published))
    home.put(f"{model}-stock", weights.gguf(), pair.projector.gguf())
    media = [base64.b64encode(medium).decode()]
    seen, expected = (home.generate(f"{model}-{form}", images=media) for form in ("published", "stock"))
    assert (seen.status, expected.status) == (200, 200), seen
    assert seen.body["response"] == expected.body["response"]
    assert seen.body["prompt_eval_count"] == expected.body["prompt_eval_count"]
    assert seen.body["prompt_eval_count"] > home.generate(f"{model}-published").body["prompt_eval_count"]


@pytest.mark.skipif(
    not (shutil.which("ffmpeg") and shutil.which("ffprobe")),
    reason="engines show films by ffmpeg and ffprobe",
)
def test_a_daemon_shows_the_frames_of_a_film_and_refuses_a_mere_beginning(home: Home) -> None:
    pair = BY_ID["gemma3"]
    assert pair.projector is not None
    weights = pair.text or pair.beside
    assert weights is not None
    home.put("film", weights.gguf(), pair.projector.gguf())

    def tokens(*media: bytes) -> int:
        answer = home.generate("film", images=[base64.b64encode(medium).decode() for medium in media])
        assert answer.status == 200, answer
        return int(answer.body["prompt_eval_count"])

    frame = tokens(picture()) - tokens()
    short, longer = tokens(film(seconds=1)), tokens(film(seconds=3))
    assert longer - short == 2 * FRAMES_PER_SECOND * frame
    cut_off = home.generate("film", images=[base64.b64encode(film(seconds=1)[:40]).decode()])
    assert cut_off.status == 400, cut_off
    assert "ffprobe" in cut_off.body["advice"]


def test_a_daemon_loads_models_that_guess_and_those_whose_head_is_of_no_use(home: Home) -> None:
    published = BY_ID["qwen35-guessing"].published
    answers = []
    for name, model in (("guesses", published), ("guesses-not", of_two_layers(published))):
        home.put(name, model.gguf())
        options = {"temperature": 0, "num_predict": 12, "draft_num_predict": 3}
        answers.append(home.generate(name, options=options))
    assert [answer.status for answer in answers] == [200, 200], answers
    assert answers[0].body["response"] == answers[1].body["response"]


def test_a_real_model_with_a_tower_added_answers_as_before(home: Home) -> None:
    home.put("gemma", gemma3())
    home.put("gemma-published", published_gemma())
    before, after = (home.generate(name, raw=True) for name in ("gemma", "gemma-published"))
    assert (before.status, after.status) == (200, 200), after.body
    assert len(before.body["response"]) > 10
    assert after.body["response"] == before.body["response"]


def test_a_published_model_with_a_part_missing_says_so(home: Home) -> None:
    pair = BY_ID["qwen25vl"]
    damaged = pair.published.without_tensors("v.blk.0.ffn_up.weight".__eq__)
    home.put("damaged", damaged.gguf())
    answer = home.generate("damaged")
    assert answer.status == 500
    assert answer.body["error"].startswith(
        'qwen25vl model without tensor "v.blk.0.ffn_up.weight": this model may'
    )


def test_a_view_is_deleted_with_its_model(home: Home) -> None:
    pair = BY_ID["olmo3"]
    home.put("short-lived", pair.published.gguf())
    assert home.generate("short-lived").status == 200
    views = home.path / "models" / "views"
    digest = hashlib.sha256(pair.published.gguf()).hexdigest()
    assert (views / f"sha256-{digest}").is_dir()
    answer = home.server.send({"method": "DELETE", "path": "/api/delete", "json": {"model": "short-lived"}})
    assert answer.status == 200
    assert not (views / f"sha256-{digest}").exists()
