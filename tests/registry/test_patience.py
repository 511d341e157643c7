"""How often and how long is waited."""

from __future__ import annotations

import pytest

from orchestrator.registry.errors import Interrupted, RegistryRefused, RetriesExhausted
from orchestrator.registry.patience import Attempts, Patience

EOF = Interrupted("unexpected EOF")


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16)])
def test_delays_double_and_vary(failures: int, seconds: float) -> None:
    delays = [Patience().delay(failures, EOF) for _ in range(100)]
    assert all(seconds * 0.5 <= delay <= seconds * 1.5 for delay in delays)
    assert len(set(delays)) > 50


def test_patience_ends() -> None:
    with pytest.raises(RetriesExhausted, match=r"^max retries exceeded: unexpected EOF$"):
        Patience().delay(6, EOF)


def test_there_is_a_longest_delay() -> None:
    assert Patience(attempts=100).delay(50, EOF) <= 48


def test_the_registry_says_how_long_to_wait() -> None:
    assert Patience().delay(1, RegistryRefused(429, "", retry_after_s=60)) == 60
    asked_too_much = RegistryRefused(503, "", retry_after_s=6000)
    with pytest.raises(RegistryRefused) as caught:
        Patience().delay(1, asked_too_much)
    assert caught.value is asked_too_much


@pytest.mark.parametrize("status", [400, 403, 404, 410, 501])
def test_what_will_not_change_is_not_tried_again(status: int) -> None:
    with pytest.raises(RegistryRefused):
        Patience().delay(1, RegistryRefused(status, ""))


def test_progress_gives_new_patience_and_no_delay() -> None:
    attempts = Attempts(Patience(attempts=3), 0)
    reached = 0
    for _ in range(20):
        reached += 2 << 20
        assert attempts.failed(EOF, reached) == 0
    assert attempts.failed(EOF, reached + 5) > 0
    with pytest.raises(RetriesExhausted):
        attempts.failed(EOF, reached + 10)
