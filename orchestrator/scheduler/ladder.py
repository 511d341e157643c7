"""What to try after memory ran out while a model was loading. Source: ``scheduler`` §14."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.domain.loads import LoadSpec
from orchestrator.scheduler.memory import lower_tier, total_context


def next_try(failed: LoadSpec, *, alone: bool, others: bool) -> LoadSpec | None:
    """The spec to load next, with nothing else loaded; ``None`` when there is nothing left to try.

    An automatic window shrinks tier by tier. A window that somebody chose never does; then the only hope is
    that the ``others`` leave, which helps once (``alone`` tells that they have left for this model before).
    """
    if failed.ctx_auto:
        smaller = lower_tier(total_context(failed, slots=1))
        if smaller is not None:
            return replace(failed, options=replace(failed.options, num_ctx=smaller))
    return failed if others and not alone else None
