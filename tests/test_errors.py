"""What errors advise."""

from __future__ import annotations

from orchestrator.errors import RunnerFailed


def test_only_a_want_of_memory_is_answered_with_advice_on_memory() -> None:
    assert RunnerFailed("cudaMalloc failed", out_of_memory=True).hint
    assert RunnerFailed("broke off").hint is None
    assert RunnerFailed("broke off", hint="try this").hint == "try this"
