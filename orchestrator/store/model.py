"""What the store gives of a model: everything its manifest leads to, or the short form of a listing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.domain.loads import ModelFiles
from orchestrator.domain.names import ModelName
from orchestrator.domain.requests import Message
from orchestrator.files.gguf import GgufHeader, read_header
from orchestrator.store.capabilities import ModelTraits
from orchestrator.store.wire import Manifest, ModelConfig

NO_WEIGHTS = Path()
"""Stands for the file of the weights where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model with its texts read and its files located."""

    name: ModelName
    """In the spelling of the store."""
    digest: str
    """Digest of the manifest, bare hex."""
    modified_ns: int
    size_bytes: int
    """Size of all parts."""
    manifest: Manifest
    config: ModelConfig
    files: ModelFiles
    """``files.weights`` is ``NO_WEIGHTS`` where ``has_weights`` is false."""
    traits: ModelTraits
    capabilities: tuple[str, ...]
    """In the order they are shown; ``files.capabilities`` are the same."""
    has_weights: bool = True
    """There is a GGUF file: false for stubs of remote models, and models of adapters alone."""
    template_text: str | None = None
    """The template layer."""
    system: str = ""
    parameters: Mapping[str, Any]
    messages: tuple[Message, ...] = ()
    licenses: tuple[str, ...] = ()
    parent: str = ""
    """Name of the model or file the weights came from."""
    quantization: str = ""
    """As the configuration has it, or the weights if that does not know."""

    @property
    def chat_template(self) -> str | None:
        """The jinja template of the weights."""
        return self.traits.chat_template or None

    def header(self, *, keep_arrays: bool = False) -> GgufHeader:
        """The header of the weights, read anew. Raises ``MalformedGguf``, ``OSError``."""
        return read_header(self.files.weights, keep_arrays=keep_arrays)

    def projector_header(self, *, keep_arrays: bool = False) -> GgufHeader | None:
        """The header of the first projector, if there is one. Raises ``MalformedGguf``, ``OSError``."""
        if not self.files.projectors:
            return None
        return read_header(self.files.projectors[0], keep_arrays=keep_arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """One entry of the listing."""

    name: ModelName
    digest: str
    modified_ns: int
    size_bytes: int
    config: ModelConfig
    parent: str = ""
    quantization: str = ""
    context_length: int = 0
    embedding_length: int = 0
    capabilities: tuple[str, ...] = ()
    damage: str = ""
    """Why the model cannot be used, if it cannot."""
