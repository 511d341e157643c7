"""What the rest of the daemon sees of an engine: a loader of models, and runners that answer calls.

Streams are ``Batches``: everything one socket read brought, as one batch; the last item of the last batch is
``Done``. Whoever opens a stream closes it (``contextlib.aclosing``); closing early makes the engine stop
within a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from orchestrator.domain.chunks import Batches
from orchestrator.domain.devices import Device, SystemMemory
from orchestrator.domain.formats import OutputFormat
from orchestrator.domain.loads import LoadSpec, ModelFiles
from orchestrator.domain.options import Options
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionCall:
    """Text to be continued (``POST /completion``)."""

    prompt: str | tuple[int, ...]
    """Text with ``[img-N]`` where media N goes, or token ids."""
    options: Options
    format: OutputFormat | None = None
    grammar: str | None = None
    """GBNF; excludes ``format``."""
    top_logprobs: int | None = None
    """How many alternatives per token; ``None`` is no log probabilities at all."""
    preserved_tokens: tuple[str, ...] = ()
    media: tuple[bytes, ...] = ()
    leading_bos: str = ""
    """Text the renderer puts in front of every prompt; cut off where the tokenizer adds it by itself."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further members of the engine's request (``logit_bias`` …), as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall:
    """A conversation to be continued with the engine's own template (``POST /v1/chat/completions``)."""

    messages: tuple[Message, ...]
    options: Options
    tools: tuple[Tool, ...] = ()
    think: Think | None = None
    format: OutputFormat | None = None
    top_logprobs: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Embedding:
    """One text's vector as the engine gave it, and the tokens it read."""

    vector: tuple[float, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well each document answers a query, in the order of the documents, and the tokens it took."""

    scores: tuple[float, ...]
    """The model's own numbers: any range, larger is better."""
    tokens: int


class Runner(Protocol):
    """A ready engine process that serves one model.

    Every method raises ``EngineRefused`` when the engine answers with an error status, ``RunnerFailed``
    when it dies or breaks off, ``ShuttingDown`` when the daemon takes it away.
    """

    @property
    def spec(self) -> LoadSpec:
        """What was loaded, with the options in force (chosen batch, derived mmap, clamped window)."""

    def complete(self, call: CompletionCall) -> Batches:
        """Continue text; waits for a free slot first."""

    def chat(self, call: ChatCall) -> Batches:
        """Continue a conversation; waits for a free slot first."""

    async def apply_template(self, call: ChatCall) -> str:
        """The prompt that ``chat`` would send; media stand as ``[img-N]``."""

    async def tokenize(self, text: str, *, add_special: bool = False) -> list[int]:
        """Token ids of ``text``; special tokens in it are recognised."""

    async def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of token ids."""

    async def embed(self, text: str) -> Embedding:
        """The vector of ``text``, normalised or not as the model's metadata asks; waits for a free slot."""

    async def rerank(self, query: str, documents: Sequence[str]) -> Ranking:
        """Score ``documents``, for a model with rank pooling; waits for a free slot."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What a runner occupies, in bytes, read from the engine's log."""

    total_bytes: int = 0
    vram_bytes: int = 0
    by_device: Mapping[str, int] = field(default_factory=dict)


class RunnerProcess(Runner, Protocol):
    """A runner as its owner, the scheduler, sees it."""

    @property
    def pid(self) -> int: ...

    @property
    def has_ended(self) -> bool:
        """The process is dead, though ``exited`` may not have told yet."""

    @property
    def memory(self) -> MemoryUse: ...

    @property
    def mmap_auto(self) -> bool:
        """``use_mmap`` was decided by the launch plan, not by the user."""

    async def is_healthy(self) -> bool:
        """The engine answers its health check within 10 s."""

    async def exited(self) -> str:
        """Waits until the process is gone and returns its last words."""

    async def stop(self) -> None:
        """End the process; it has been reaped when this returns. Asking again does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOrder:
    """What the scheduler decided about one load."""

    spec: LoadSpec
    parallel: int = 1
    """Slots; each has ``num_ctx`` tokens."""
    threads: int | None = None
    """Threads when the user set none; ``None`` leaves it to the engine."""
    devices: tuple[Device, ...] = ()
    main_gpu: int | None = None
    predicted_bytes: int = 0
    available_bytes: int = 0
    """Free memory of ``devices``; 0 is unknown."""
    memory: SystemMemory | None = None
    mmap_loaded_bytes: int = 0
    """Sizes of the loaded models that use mmap."""


@dataclass(frozen=True, slots=True)
class PreparedFiles:
    """The files of a model in a form that the engine loads."""

    files: ModelFiles
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables that the engine needs for that."""


class Engine(Protocol):
    """Starts runners."""

    async def load(self, order: LoadOrder) -> RunnerProcess:
        """Start a process and wait until it may serve.

        Raises ``RunnerFailed`` with the engine's last words. When cancelled the process has been reaped.
        """
