"""One request in the middle of its way: everything decided, a runner at hand, nothing sent yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.chunks import Batches
from orchestrator.domain.loads import LoadSpec
from orchestrator.domain.options import Options
from orchestrator.domain.requests import GenerationRequest
from orchestrator.domain.think import Think
from orchestrator.inference.path import PromptPath
from orchestrator.inference.reply import Overflow, RenderedPrompt
from orchestrator.inference.service import Inference, held_to_window
from orchestrator.runners.base import Runner
from orchestrator.scheduler.lease import Lease
from orchestrator.store.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the steps between the lease and the engine's first token need to know."""

    inference: Inference
    request: GenerationRequest
    model: Model
    path: PromptPath
    think: Think | None
    options: Options
    """Merged options; ``num_ctx`` is the window this request may use."""
    runner: Runner
    shift: bool
    narrowed: bool = False
    """The loaded window is larger than the one this request asked for."""
    warnings: tuple[str, ...] = ()
    """What is told of the request's options."""

    @classmethod
    def of(
        cls,
        inference: Inference,
        request: GenerationRequest,
        model: Model,
        path: PromptPath,
        think: Think | None,
        *,
        spec: LoadSpec,
        lease: Lease,
        warnings: tuple[str, ...],
    ) -> Turn:
        """The turn of a request that wanted ``spec`` to be loaded, and got ``lease``."""
        return cls(
            inference=inference,
            request=request,
            model=model,
            path=path,
            think=path.settled_think(think),
            options=held_to_window(spec, lease.spec),
            runner=lease.runner,
            shift=spec.shift,
            narrowed=spec.options.num_ctx < lease.spec.options.num_ctx,
            warnings=warnings,
        )

    @property
    def counts_media(self) -> bool:
        """Images take room in the window: the model has a projector."""
        return bool(self.model.files.projectors)

    @property
    def extra(self) -> Mapping[str, Any]:
        """Members of the engine's request that the request brings beside its options."""
        bias = self.request.logit_bias
        return {"logit_bias": [[token, value] for token, value in bias.items()]} if bias else {}


@dataclass(frozen=True, slots=True)
class Answer:
    """A stream that is about to start, and what of the prompt was left out."""

    items: Batches
    overflow: Overflow | None = None
    warnings: tuple[str, ...] = ()
    """What of the request does not take effect as it was meant."""


Prepared = Answer | RenderedPrompt
