"""What the operator decided about scheduling."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.durations import SECOND_NS, KeepAlive

MODELS_PER_GPU = 3
"""How many models may be loaded per GPU (or at all, without one) when the operator gave no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """Limits and policies of the scheduler."""

    max_queue: int = 512
    """Requests that may wait for room, beyond the one that room is being made for."""
    max_loaded: int = 0
    """Models loaded at one time; 0 is three per GPU, three without a GPU."""
    parallel: int = 1
    """Slots per model, where the family allows more than one."""
    keep_alive: KeepAlive = KeepAlive(300 * SECOND_NS)
    """How long an idle runner stays when no request said otherwise."""
    keep_alive_min: KeepAlive = KeepAlive(0)
    keep_alive_max: KeepAlive = KeepAlive.FOREVER
    """The operator's floor and ceiling: what a request asks for is brought between the two (case B093)."""
    cores: int = 1
    """Physical cores that engines may use, the CPU quota observed."""
    spread: bool = False
    """Always split a model over all GPUs of the best group."""
    kv_cache_type: str = ""
    """Type of the KV cache; empty is f16."""
    check_memory: bool = True
    """Refuse a model that exceeds main memory where there is no GPU, instead of letting it page."""
    turn_ns: int = 5 * SECOND_NS
    """How long a loaded model may go on taking requests that came after one that waits for its place."""
    health_after_ns: int = 30 * SECOND_NS
    """A runner not heard of for so long has to pass a health check before it is lent again."""

    def bounded(self, keep_alive: KeepAlive) -> int:
        """``keep_alive`` in nanoseconds, brought between the operator's floor and ceiling."""
        return max(self.keep_alive_min.ns, min(keep_alive.ns, self.keep_alive_max.ns))

    def limit(self, gpus: int) -> int:
        """How many models may be loaded on a machine with so many GPUs."""
        return self.max_loaded if self.max_loaded > 0 else MODELS_PER_GPU * max(gpus, 1)
