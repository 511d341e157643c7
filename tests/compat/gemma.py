"""A real model in the form in which Ollama's own engine reads it."""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.compat.draft import Draft
from orchestrator.compat.layout import own_layout
from orchestrator.compat.source import Source
from orchestrator.compat.writer import opened, write_file
from orchestrator.create.rewrite import GgufFile, with_tensors
from orchestrator.files.gguf import read_config, read_header
from tests.compat.pairs import pairs
from tests.compat.tiny import random_tensor
from tests.compat.towers import V
from tests.sample_models import cached, gemma3


def published_gemma() -> Path:
    """Gemma 3 270M with keys of Ollama's own, and a tower behind its tensors."""
    return cached("gemma3-270m-published.gguf", _publish)


def _publish(target: Path) -> None:
    pair = next(pair for pair in pairs() if pair.id == "gemma3")
    width = read_config(gemma3()).uint("embedding_length")
    projection = random_tensor("mm.mm_input_projection.weight", (width, V), "F16")
    inside = pair.published.with_tensors([projection]).without_tensors(lambda n: n[:2] not in ("v.", "mm"))
    with TemporaryDirectory() as folder:
        donor, joined = Path(folder) / "donor.gguf", Path(folder) / "joined.gguf"
        donor.write_bytes(inside.gguf())
        added = [(GgufFile.read(donor), tensor) for tensor in read_header(donor).tensors]
        with joined.open("wb") as file:
            file.writelines(with_tensors(GgufFile.read(gemma3()), added).chunks())
        draft = Draft(Source.read(joined))
        draft.rename_key(".rope.freq_base", ".rope.global.freq_base")
        draft.set(".rope.local.freq_base", "f32", 10000.0)  # what the engine takes when nothing is said
        draft.set(".mm.tokens_per_image", "u32", 4)
        for key, value in inside.metadata.items():
            if key.startswith("gemma3.vision."):
                draft.set(key, "f32" if isinstance(value, float) else "u32", value)
        with opened(joined) as source:
            layout = own_layout(draft.plan(), source.read)
            write_file(target, layout, source, alignment=32, stop=threading.Event())
