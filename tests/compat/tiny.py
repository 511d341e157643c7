"""Models of a few hundred kilobytes with random weights, in memory."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray

from tests.gguf_builder import Tensor, Typed, build_gguf

Floats = NDArray[np.float32]
_NORM = re.compile(r"(norm|norm_\d|ln\d?)\.weight$")
Shapes = Mapping[str, tuple[int, ...]]
"""Names of tensors with their shapes, innermost dimension first."""

BYTES = 256
VOCABULARY = 288
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
LLAMA_SPARE = 4
"""Kind of the tokens that users define."""


@dataclass(frozen=True)
class Model:
    """The content of a GGUF file."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)

    def gguf(self) -> bytes:
        return build_gguf(self.metadata, list(self.tensors.values()))

    @property
    def architecture(self) -> str:
        name = self.metadata["general.architecture"]
        assert isinstance(name, str)
        return name

    def with_keys(self, keys: Mapping[str, Any]) -> Model:
        """With these keys, which lack the architecture if they begin with a dot."""
        full = {f"{self.architecture}{k}" if k.startswith(".") else k: v for k, v in keys.items()}
        return replace(self, metadata={**self.metadata, **full})

    def without_keys(self, *keys: str) -> Model:
        full = {f"{self.architecture}{key}" if key.startswith(".") else key for key in keys}
        assert full <= self.metadata.keys(), f"{full} expected"
        return replace(self, metadata={k: v for k, v in self.metadata.items() if k not in full})

    def key_renamed(self, old: str, new: str) -> Model:
        value = self.metadata[f"{self.architecture}{old}"]
        return self.without_keys(old).with_keys({new: value})

    def called(self, architecture: str) -> Model:
        """The same under another name of its architecture, keys included."""
        old = f"{self.architecture}."
        metadata = {
            f"{architecture}.{key.removeprefix(old)}" if key.startswith(old) else key: value
            for key, value in self.metadata.items()
        }
        return replace(self, metadata={**metadata, "general.architecture": architecture})

    def renamed(self, *pairs: tuple[str, str]) -> Model:
        """Tensors renamed by replacing substrings; every pair must hit."""
        tensors = dict(self.tensors)
        for old, new in pairs:
            assert any(old in name for name in tensors), f"no tensor with {old}"
            tensors = {(to := name.replace(old, new, 1)): replace(t, name=to) for name, t in tensors.items()}
        return replace(self, tensors=tensors)

    def with_tensors(self, tensors: Iterable[Tensor]) -> Model:
        return replace(self, tensors={**self.tensors, **{tensor.name: tensor for tensor in tensors}})

    def without_tensors(self, unwanted: Callable[[str], bool]) -> Model:
        return replace(self, tensors={n: t for n, t in self.tensors.items() if not unwanted(n)})

    def numbers(self, name: str) -> Floats:
        return numbers(self.tensors[name])


def numbers(tensor: Tensor) -> Floats:
    """The numbers of a tensor; outermost dimension first."""
    kind = GGMLQuantizationType[tensor.type]
    stored = np.frombuffer(tensor.bytes, np.uint8)
    values = dequantize(stored.reshape(math.prod(tensor.shape[1:]), -1), kind)
    return values.astype(np.float32).reshape(tensor.shape[::-1])


def tensor(name: str, values: NDArray[Any], kind: str = "F32") -> Tensor:
    """A tensor of these numbers, which are outermost dimension first."""
    stored = quantize(np.ascontiguousarray(values, np.float32), GGMLQuantizationType[kind])
    return Tensor(name, tuple(values.shape[::-1]), kind, stored.tobytes())


def random_tensor(name: str, shape: tuple[int, ...], kind: str = "F32") -> Tensor:
    """Always the same numbers for the same name, and such that half precision holds them."""
    source = np.random.default_rng(zlib.crc32(name.encode()))
    values = source.normal(0.0, 0.1, shape[::-1]).astype(np.float16).astype(np.float32)
    if name.endswith("ssm_a"):
        values = -np.abs(values)  # a state decays
    if _NORM.search(name):
        values = (values + 1).astype(np.float16).astype(np.float32)  # what goes through a norm stays as large
    return tensor(name, values, kind)


def model(architecture: str, keys: Mapping[str, Any], tokenizer: Mapping[str, Any], shapes: Shapes) -> Model:
    """A text model; ``keys`` lack the name of the architecture."""
    metadata = {
        "general.architecture": architecture,
        "general.name": f"tiny {architecture}",
        **{f"{architecture}.{key}": value for key, value in keys.items()},
        **tokenizer,
    }
    return Model(metadata, {name: random_tensor(name, shape) for name, shape in shapes.items()})


def tower(kind: str, keys: Mapping[str, Any], tensors: Iterable[Tensor]) -> Model:
    """A projector file; ``kind`` may be empty for files of several towers."""
    named = {"clip.projector_type": kind} if kind else {}
    metadata = {"general.architecture": "clip", "clip.has_vision_encoder": True, **named}
    return Model({**metadata, **keys}, {tensor.name: tensor for tensor in tensors})


def byte_pairs(pre: str, *, size: int = VOCABULARY) -> dict[str, Any]:
    """A tokenizer that knows every byte, one merge, and control tokens."""
    tokens = [*_byte_letters(), "Ġa"]
    tokens += [f"<|{number}|>" for number in range(len(tokens), size)]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": Typed(
            "arr:i32", [_NORMAL] * (BYTES + 1) + [_CONTROL] * (size - BYTES - 1)
        ),
        "tokenizer.ggml.merges": ["Ġ a"],
        "tokenizer.ggml.bos_token_id": 258,
        "tokenizer.ggml.eos_token_id": 259,
    }


def sentence_pieces(name: str = "llama", *, size: int = VOCABULARY) -> dict[str, Any]:
    """A tokenizer of pieces with scores that falls back to bytes."""
    tokens = ["<unk>", "<s>", "</s>", *[f"<0x{byte:02X}>" for byte in range(BYTES)]]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * BYTES]
    words = ["▁a", "▁the", "▁dog", "▁runs", "a", "e", "t", "▁"]
    words += [f"▁w{number}" for number in range(size - len(tokens) - len(words))]
    return {
        "tokenizer.ggml.model": name,
        "tokenizer.ggml.tokens": [*tokens, *words],
        "tokenizer.ggml.scores": [-float(number) for number in range(size)],
        "tokenizer.ggml.token_type": Typed("arr:i32", [*kinds, *[_NORMAL] * len(words)]),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def _byte_letters() -> list[str]:
    """The letters that stand for bytes in such tokenizers."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = iter(range(BYTES, 2 * BYTES))
    return [chr(byte if byte in visible else next(hidden)) for byte in range(BYTES)]
