"""Turning texts into vectors. Source: ``api-native`` §9.4, §9.5."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.domain.loads import LoadSpec, ModelFacts
from orchestrator.domain.remarks import no_effect
from orchestrator.domain.requests import EmbedRequest
from orchestrator.errors import BadRequest, EngineRefused, OrchestratorError, RunnerFailed, UnreadableAnswer
from orchestrator.inference.errors import ModelNotPulled, ModelRequired
from orchestrator.inference.prepare import option_remarks
from orchestrator.inference.service import Inference, refuse_replaced, window
from orchestrator.runners.base import Embedding, Runner
from orchestrator.store.model import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_SMALLEST_NORM = 1e-12
_NOT_SUPPORTED = 501
"""What an engine answers that was started for a model of another kind."""


class InputTooLong(BadRequest):
    """A text longer than the model can read, where it may not be cut."""

    def __init__(self) -> None:
        super().__init__("the input length exceeds the context length")


class NothingLeftOfInput(BadRequest):
    """The window has no room for any text beside the special tokens."""

    def __init__(self) -> None:
        super().__init__("input after truncation exceeds maximum context length")


class InputCannotBeCut(BadRequest):
    """The engine refuses a text that is as short as it may get."""

    def __init__(self) -> None:
        super().__init__("input exceeds maximum context length and cannot be truncated further")


class UnusableVector(BadRequest):
    """The engine's vector is no direction."""

    def __init__(self) -> None:
        super().__init__("embedding contains NaN or Inf values")


@dataclass(frozen=True, slots=True)
class EmbedReply:
    """Vectors in the order of the texts, and what they cost. Durations are nanoseconds."""

    vectors: tuple[Vector, ...]
    prompt_tokens: int
    total_duration_ns: int
    load_duration_ns: int
    texts_cut: int = 0
    """Texts of which only the beginning was read."""
    warnings: tuple[str, ...] = ()
    """What of the request does not count as it is."""


async def embed(inference: Inference, request: EmbedRequest) -> EmbedReply:
    """Unit vectors of the texts; no text at all just loads the model."""
    started_ns = time.perf_counter_ns()
    model, spec = await _reader(inference, request)
    async with inference.scheduler.lease(spec, request.keep_alive) as lease:
        load_duration_ns = time.perf_counter_ns() - started_ns
        reader = TextReader(
            lease.runner,
            model.files.facts,
            num_ctx=window(spec, lease.spec),
            num_batch=min(spec.options.num_batch, lease.spec.options.num_batch),
            truncate=request.truncate,
        )
        try:
            found = await _all(reader, request.texts)
        except EngineRefused as error:
            error.advice = error.advice or _advice(error)
            raise
    tokens = sum(embedding.tokens for embedding, _ in found)
    if inference.observer:
        inference.observer.tokens(prompt=tokens, completion=0)
    vectors = tuple(_direction(embedding.vector, request.dimensions) for embedding, _ in found)
    return EmbedReply(
        vectors,
        tokens,
        time.perf_counter_ns() - started_ns,
        load_duration_ns,
        sum(cut for _, cut in found),
        (*option_remarks(spec, request.options, completes=False), *_of_dimensions(request, vectors)),
    )


def _of_dimensions(request: EmbedRequest, vectors: Sequence[Vector]) -> Iterator[str]:
    """What is told when vectors are not of the length that was asked for."""
    if request.dimensions < 0:
        yield no_effect("dimensions", "it is negative")
    elif vectors and request.dimensions > (size := len(vectors[0])):
        yield no_effect("dimensions", f"vectors of this model have {size}")


async def embed_raw(inference: Inference, request: EmbedRequest) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The vector of one text as the engine gives it, for the older route, and the warnings of the request.

    Without a text the vector is empty.
    """
    if not request.model.strip():
        raise ModelRequired
    model, spec = await _reader(inference, request)
    async with inference.scheduler.lease(spec, request.keep_alive) as lease:
        told = option_remarks(spec, request.options, completes=False)
        if not request.texts:
            return (), told
        try:
            return (await lease.runner.embed(str(request.texts[0]))).vector, told
        except EngineRefused as error:
            # this route knows one status, 500
            failure = RunnerFailed(str(error))
            failure.advice = _advice(error)
            raise failure from error


def _advice(error: EngineRefused) -> str | None:
    """What to do about a refusal; the engine's own words speak of flags that nobody here gives."""
    if error.status != _NOT_SUPPORTED:
        return None
    return (
        "this model writes text and gives no embeddings; "
        "take an embedding model, such as all-minilm or nomic-embed-text"
    )


async def _reader(inference: Inference, request: EmbedRequest) -> tuple[Model, LoadSpec]:
    """The model that is asked for, and how to load it.

    Raises ``ModelNotPulled``, for a stub of a remote model too, and ``ReplacedModel`` for a dead format.
    """
    model = await inference.open(request.model, ModelNotPulled)
    if not model.has_weights:
        raise ModelNotPulled(model.name.short.removesuffix(":latest"))
    refuse_replaced(model)
    return model, inference.spec_of_reader(model, request.options)


class TextReader:
    """Reads texts with one runner, each cut to what the model can take."""

    def __init__(
        self, runner: Runner, facts: ModelFacts, *, num_ctx: int, num_batch: int, truncate: bool
    ) -> None:
        self._runner = runner
        self._facts = facts
        self._window = min(num_ctx, facts.trained_context) if facts.trained_context else num_ctx
        self._num_batch = num_batch
        self._truncate = truncate

    async def read(self, given: str | tuple[int, ...]) -> tuple[Embedding, bool]:
        """The vector of a text, or of the text of token ids, and whether only a part of it was read.

        What the engine refuses is tried once more with as much as one batch holds. Raises
        ``NothingLeftOfInput``, ``InputTooLong``, ``InputCannotBeCut``, ``EngineRefused``, ``RunnerFailed``.
        """
        text = given if isinstance(given, str) else await self._runner.detokenize(given)
        tokens = await self._runner.tokenize(text)
        limit = self._limit(tokens)
        whole = len(tokens) <= limit
        if not whole and (limit <= 0 or not self._truncate):
            raise NothingLeftOfInput if limit <= 0 else InputTooLong
        if not whole:
            text = await self._runner.detokenize(tokens[:limit])
        try:
            return await self._runner.embed(text), not whole
        except EngineRefused as error:
            if error.status != 400 or isinstance(error, UnreadableAnswer) or not self._truncate:
                raise
        shorter = min(limit, self._num_batch)
        if shorter >= min(len(tokens), limit):
            raise InputCannotBeCut
        return await self._runner.embed(await self._runner.detokenize(tokens[:shorter])), True

    def _limit(self, tokens: Sequence[int]) -> int:
        """How many tokens of the text fit beside the special tokens the engine puts around it."""
        facts, limit = self._facts, self._window
        if facts.add_bos_given is not False and (not tokens or tokens[0] != facts.bos_id):
            limit -= 1
        if facts.add_eos_given is not False and (not tokens or tokens[-1] != facts.eos_id):
            limit -= 1
        return limit


async def _all(reader: TextReader, texts: Sequence[str | tuple[int, ...]]) -> list[tuple[Embedding, bool]]:
    """All texts at once; the runner lets as many through as it has slots. The first failure ends all."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(reader.read(text)) for text in texts]
    except* OrchestratorError as failures:
        raise _first(failures) from None
    return [task.result() for task in tasks]


def _first(group: BaseExceptionGroup[OrchestratorError]) -> OrchestratorError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, OrchestratorError)
    return error


def _direction(vector: Sequence[float], dimensions: int) -> Vector:
    """``vector`` with length 1, shortened to ``dimensions`` first where that is less."""
    import numpy as np  # takes long, and is not needed until somebody embeds

    values = np.array(vector, dtype=np.float32)
    if not np.isfinite(values).all():
        raise UnusableVector
    unit = _unit(values)
    return _unit(unit[:dimensions]) if 0 < dimensions < len(unit) else unit


def _unit(values: Vector) -> Vector:
    """Each step in single precision and the sum in order, so that the last digits are Ollama's."""
    import numpy as np

    if not len(values):
        return values
    with np.errstate(over="ignore"):
        total = float(np.cumsum(values * values, dtype=np.float32)[-1])
    return values * np.float32(1 / max(math.sqrt(total), _SMALLEST_NORM))
