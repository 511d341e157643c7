"""Errors of scheduling."""

from __future__ import annotations

from orchestrator.errors import RunnerFailed
from orchestrator.units import GIB


class NotEnoughMemory(RunnerFailed):
    """The model does not fit into main memory, whoever leaves."""

    hint = "use a smaller num_ctx, a smaller quantization of the model, or a q8_0 KV cache"

    def __init__(self, *, needed_bytes: int, available_bytes: int) -> None:
        super().__init__(
            f"model requires more system memory ({_gib(needed_bytes)})"
            f" than is available ({_gib(available_bytes)})"
        )
        self.needed_bytes, self.available_bytes = needed_bytes, available_bytes


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / GIB:.1f} GiB"
