"""What a request for chat or generate turns out to be."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.chunks import Batches, Done, DoneReason


@dataclass(frozen=True, slots=True)
class Residency:
    """A request without a prompt: the model was loaded, or will leave. One object answers it."""

    reason: DoneReason
    warnings: tuple[str, ...] = ()
    """What of the request does not count as it is."""

    @property
    def done(self) -> Done:
        """The end, which is all there is."""
        return Done(self.reason, warnings=self.warnings)


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The prompt was wanted, not the answer (``_debug_render_only``)."""

    prompt: str
    media_count: int


@dataclass(frozen=True, slots=True)
class Overflow:
    """What did not fit into the context window and was left out, so that nobody has to guess."""

    prompt_tokens: int
    """Tokens of the whole prompt, before anything was left out."""
    num_ctx: int
    messages_dropped: int = 0
    tokens_dropped: int = 0
    """Tokens cut out of the middle of the prompt, after whole messages could not be dropped."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A running answer. ``items`` must be closed by whoever opened the reply."""

    items: Batches
    started_ns: int
    """``time.perf_counter_ns()`` when the request came."""
    load_duration_ns: int
    """From then until a runner was there."""
    overflow: Overflow | None = None
    warnings: tuple[str, ...] = ()
    """What of the request did not take effect as it was meant."""


Reply = Residency | RenderedPrompt | Generation
