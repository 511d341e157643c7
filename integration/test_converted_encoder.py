"""all-MiniLM-L6-v2, converted, gives on the real engine the vectors that its own arithmetic gives."""

from __future__ import annotations

import asyncio
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator.files.safetensors import read_safetensors
from orchestrator.process.child import child_process
from tests.create.convert.model_folders import convert
from tests.sample_models import minilm

Floats = NDArray[np.float32]

TEXTS = (
    "hello world",
    "The quick brown fox jumps over the lazy dog.",
    "Owls hunt at night, silently and unbelievably precisely!",
    "def f(x): return x * 2  # doubles",
    "a",
)

_FILES = (
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
)


class Reference:
    """The encoder in plain numpy, for lower-cased ASCII texts; straight from its published definition."""

    def __init__(self) -> None:
        self.weights = {
            name: tensor.float32()
            for name, tensor in read_safetensors(minilm("model.safetensors")).items()
            if tensor.dtype == "F32"
        }
        self.vocabulary: dict[str, int] = json.loads(minilm("tokenizer.json").read_text())["model"]["vocab"]
        self.config: dict[str, Any] = json.loads(minilm("config.json").read_text())

    def embed(self, text: str) -> Floats:
        """The vector of ``text``, of length 1."""
        ids = self.token_ids(text)
        states = self._embeddings(ids)
        for layer in range(self.config["num_hidden_layers"]):
            states = self._layer(states, f"encoder.layer.{layer}")
        mean: Floats = states.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def token_ids(self, text: str) -> list[int]:
        words = re.findall(r"[a-z0-9]+|[^a-z0-9\s]", text.lower())
        pieces = ["[CLS]", *(piece for word in words for piece in self._pieces(word)), "[SEP]"]
        return [self.vocabulary[piece] for piece in pieces]

    def _pieces(self, word: str) -> list[str]:
        """The longest known beginnings of ``word``, one after the other."""
        pieces, start = [], 0
        while start < len(word):
            candidates = ("##" * (start > 0) + word[start:end] for end in range(len(word), start, -1))
            piece = next(candidate for candidate in candidates if candidate in self.vocabulary)
            pieces.append(piece)
            start += len(piece.removeprefix("##"))
        return pieces

    def _embeddings(self, ids: list[int]) -> Floats:
        """[tokens, width]"""
        words = self.weights["embeddings.word_embeddings.weight"][ids]
        places = self.weights["embeddings.position_embeddings.weight"][: len(ids)]
        kinds = self.weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm(words + places + kinds, "embeddings.LayerNorm")

    def _layer(self, states: Floats, name: str) -> Floats:
        attended = self._linear(
            self._attention(states, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        states = self._norm(states + attended, f"{name}.attention.output.LayerNorm")
        wide = _gelu(self._linear(states, f"{name}.intermediate.dense"))
        return self._norm(states + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, states: Floats, name: str) -> Floats:
        heads = self.config["num_attention_heads"]

        def split(part: str) -> Floats:
            """[heads, tokens, width per head]"""
            return self._linear(states, f"{name}.{part}").reshape(len(states), heads, -1).transpose(1, 0, 2)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed: Floats = (shares @ value).transpose(1, 0, 2).reshape(states.shape)
        return mixed

    def _linear(self, states: Floats, name: str) -> Floats:
        mapped: Floats = states @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return mapped

    def _norm(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt(states.var(axis=-1, keepdims=True) + self.config["layer_norm_eps"])
        scaled: Floats = centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return scaled


def _gelu(values: Floats) -> Floats:
    erf = np.vectorize(math.erf, otypes=[np.float32])
    activated: Floats = values * (1 + erf(values / math.sqrt(2))) / 2
    return activated


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference()


async def test_the_converted_model_embeds_like_the_original(reference: Reference, tmp_path: Path) -> None:
    model, socket = tmp_path / "minilm.gguf", tmp_path / "engine.sock"
    files = {name: minilm(name) for name in _FILES}
    await asyncio.to_thread(convert, files, model)
    listening = asyncio.Event()

    def look(line: str) -> None:
        if "listening on" in line:
            listening.set()

    argv = [
        sys.executable,
        "-m",
        "orchestrator.runners.embedded",
        "--model",
        str(model),
        "--host",
        str(socket),
    ]
    argv += ["--embedding", "--ctx-size", "512", "--ubatch-size", "512", "--no-warmup", "--threads", "2"]
    async with child_process(argv, name="minilm", on_line=look), asyncio.timeout(30):
        await listening.wait()
        vectors = await embeddings(socket)
    for text, vector in zip(TEXTS, vectors, strict=True):
        expected = reference.embed(text)
        cosine = float(vector @ expected / np.linalg.norm(vector))
        assert cosine > 0.9999, text


async def embeddings(socket: Path) -> list[Floats]:
    transport = httpx.AsyncHTTPTransport(uds=str(socket))
    async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
        answer = await client.post("/v1/embeddings", json={"input": TEXTS})
    answer.raise_for_status()
    return [np.array(entry["embedding"], np.float32) for entry in answer.json()["data"]]
