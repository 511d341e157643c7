"""What every kind of inference needs: the models, the scheduler, and the operator's choices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from orchestrator.domain.chunks import Batches, Done, Usage
from orchestrator.domain.loads import LoadSpec
from orchestrator.domain.names import InvalidName, ModelName, ModelReference, Source
from orchestrator.domain.options import Options
from orchestrator.domain.requests import GenerationRequest
from orchestrator.errors import NotFound, OrchestratorError
from orchestrator.inference.errors import (
    CloudDisabled,
    ContextOverflow,
    InvalidModelName,
    InvalidTopLogprobs,
    ModelNotFound,
    ModelNotPulled,
    RemoteNotAllowed,
    ReplacedModel,
)
from orchestrator.inference.path import choose_path
from orchestrator.inference.prepare import Defaults, load_spec
from orchestrator.inference.reply import Overflow
from orchestrator.scheduler.lease import Lease
from orchestrator.scheduler.loop import Scheduler
from orchestrator.store.errors import IncompleteModel
from orchestrator.store.model import Model
from orchestrator.store.models import ModelStore

logger = logging.getLogger(__name__)

MAX_TOP_LOGPROBS = 20


class InferenceObserver(Protocol):
    """Hears of what inference cost. Must neither block nor raise."""

    def tokens(self, *, prompt: int, completion: int, cached: int = 0) -> None:
        """A generation, or an embedding, has ended."""

    def prompt_truncated(self) -> None:
        """A part of a prompt was left out."""


@dataclass(frozen=True, slots=True)
class Inference:
    """The one path from a domain request to an answer, for every dialect."""

    models: ModelStore
    scheduler: Scheduler
    defaults: Defaults
    go_template: bool | None = None
    """``OLLAMA_GO_TEMPLATE``: whether Go templates are used; ``None`` decides per model."""
    overflow_is_error: bool = False
    """``ORCH_CONTEXT_OVERFLOW=error``: a prompt that does not fit is refused, never cut."""
    observer: InferenceObserver | None = None
    remotes: tuple[str, ...] = ("ollama.com",)
    """Hosts that models may be on (``OLLAMA_REMOTES``)."""
    cloud_disabled: bool = False

    async def open(self, name: str, missing: Callable[[str], NotFound] = ModelNotFound) -> Model:
        """The model a client named. Raises ``missing``, and what ``name_of`` raises.

        A model without one of its files is none either: clients that pull what is not there will mend it.
        """
        wanted = name_of(name, missing)
        try:
            return await self.models.open(wanted)
        except NotFound as error:
            raise missing(name) from error
        except IncompleteModel as error:
            absence = ModelNotPulled(name)
            absence.hint = str(error)
            raise absence from error

    def refuse_stub(self, model: Model) -> None:
        """Raises for the stub of a model elsewhere, to which nothing is forwarded.

        ``CloudDisabled``, and where the user would have the cloud ``RemoteNotAllowed`` for any other host.
        """
        if not model.config.remote_host:
            return
        host = urlsplit(model.config.remote_host).hostname
        if not self.cloud_disabled and host not in self.remotes:
            raise RemoteNotAllowed
        raise CloudDisabled

    def spec_of_reader(self, model: Model, options: Mapping[str, Any]) -> LoadSpec:
        """What to load for a request that has texts read and nothing generated. Raises ``InvalidOption``."""
        rendered = choose_path(model, self.go_template).rendered
        return load_spec(model, options, self.defaults, shift=None, rendered=rendered)

    def report_overflow(self, model: Model, overflow: Overflow | None) -> None:
        """Tell the log what was left out of a prompt. Raises ``ContextOverflow`` if that is not wanted."""
        if overflow is None:
            return
        if self.overflow_is_error:
            raise ContextOverflow(prompt_tokens=overflow.prompt_tokens, num_ctx=overflow.num_ctx)
        if self.observer:
            self.observer.prompt_truncated()
        logger.warning(
            "prompt did not fit into the context window, its oldest part was left out",
            extra={
                "model": model.name.short,
                "prompt_tokens": overflow.prompt_tokens,
                "num_ctx": overflow.num_ctx,
                "messages_dropped": overflow.messages_dropped,
                "tokens_dropped": overflow.tokens_dropped,
            },
        )

    async def watched(self, items: Batches, lease: Lease) -> Batches:
        """``items``; what they cost is reported, and a failure is told to the lease's owner."""
        try:
            async with aclosing(items):
                async for batch in items:
                    if isinstance(done := batch[-1], Done):
                        self._report_cost(done.usage)
                    yield batch
        except OrchestratorError as error:
            lease.error = error
            raise

    def _report_cost(self, usage: Usage) -> None:
        if self.observer:
            self.observer.tokens(
                prompt=usage.prompt_tokens, completion=usage.completion_tokens, cached=usage.cached_tokens
            )


def name_of(text: str, missing: Callable[[str], NotFound] = ModelNotFound) -> ModelName:
    """The name a client wrote. Raises ``missing`` for none, ``InvalidModelName``, ``CloudDisabled``."""
    if not text.strip():
        raise missing(text)
    reference = ModelReference.parse(text)
    try:
        name = reference.name
    except InvalidName as error:
        raise InvalidModelName(error.advice) from error
    if reference.source is Source.CLOUD:
        raise CloudDisabled
    return name


def check_top_logprobs(request: GenerationRequest) -> None:
    """Raises ``InvalidTopLogprobs`` for a number out of range, whether wanted or not."""
    if not 0 <= request.top_logprobs <= MAX_TOP_LOGPROBS:
        raise InvalidTopLogprobs


def wanted_logprobs(request: GenerationRequest) -> int | None:
    """How many alternatives per token the engine shall report; ``None`` is no log probabilities."""
    return request.top_logprobs if request.logprobs else None


def refuse_replaced(model: Model) -> None:
    """Raises ``ReplacedModel`` for a model in a format that engines no longer load."""
    if "mllama" in model.files.families and model.files.projectors:
        raise ReplacedModel


def window(spec: LoadSpec, loaded: LoadSpec) -> int:
    """Tokens a request may use: what it asked for, or less if the running process has less."""
    return min(spec.options.num_ctx, loaded.options.num_ctx)


def held_to_window(spec: LoadSpec, loaded: LoadSpec) -> Options:
    """The options of a request, its window being the one that ``window`` tells."""
    num_ctx = window(spec, loaded)
    return spec.options if num_ctx == spec.options.num_ctx else replace(spec.options, num_ctx=num_ctx)
