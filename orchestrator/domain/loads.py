"""What it takes to load a model: its files, what is known of them, and the options of the load.

``store`` makes ``ModelFiles``, ``inference`` makes the ``LoadSpec``, the scheduler compares specs, and
``runners`` turns one into an engine's command line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.domain.options import Options

RANK_POOLING = 4
"""The ``pooling_type`` of rerankers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What the header of the weights says, as far as loading depends on it. 0 is "not known"."""

    architecture: str = ""
    block_count: int = 0
    trained_context: int = 0
    embedding_length: int = 0
    head_count_max: int = 0
    head_count_kv_min: int = 0
    size_bytes: int = 0
    """Size of the weights file."""
    pooling_type: int | None = None
    """Present in embedding and rerank models only."""
    normalize_embeddings: bool | None = None
    nextn_predict_layers: int = 0
    has_mtp_tensors: bool = False
    embedded_projector_bytes: int = 0
    """Size of vision and audio tensors inside the weights file (``v.*``, ``mm.*``, ``a.*``)."""
    projector_bytes: int = 0
    """Size of the tensors of the first separate projector."""
    draft_architecture: str = ""
    tokenizer_model: str = ""
    tokenizer_pre: str = ""
    add_bos: bool = False
    """The key ``tokenizer.ggml.add_bos_token`` is true."""
    add_bos_given: bool | None = None
    add_eos_given: bool | None = None
    bos_id: int | None = None
    eos_id: int | None = None

    @property
    def ranks(self) -> bool:
        """The model scores documents against a query."""
        return self.pooling_type == RANK_POOLING


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """The files of one model. ``key`` is the scheduler's identity: models with one key share a runner."""

    key: str
    name: str
    """Short display name, for logs and ``/api/ps``."""
    digest: str
    """Digest of the manifest, bare hex."""
    weights: Path
    shards: tuple[Path, ...] = ()
    """The files that follow ``weights`` where these are split."""
    projectors: tuple[Path, ...] = ()
    adapters: tuple[Path, ...] = ()
    draft: Path | None = None
    family: str = ""
    families: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    facts: ModelFacts = field(default_factory=ModelFacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec:
    """Everything that decides how a runner for a model is started."""

    files: ModelFiles
    options: Options
    """Merged options with ``num_ctx`` settled; only the load options (and ``num_keep``) matter here."""
    ctx_auto: bool = False
    """Nobody chose ``num_ctx``: a runner with another automatic window will do."""
    batch_auto: bool = False
    shift: bool = True
    """Whether the engine may shift its context while generating."""
    rendered: bool = False
    """The daemon renders prompts itself, so the engine is started without its template engine."""

    @property
    def window(self) -> int:
        """Tokens of context of a request: what was asked for, within what the model was trained for."""
        num_ctx, trained = self.options.num_ctx, self.files.facts.trained_context
        return min(num_ctx, trained) if trained > 0 else num_ctx
