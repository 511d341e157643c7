"""A bounded memory of values."""

from __future__ import annotations

from orchestrator.store.kept import Kept


def test_a_value_is_found_once() -> None:
    kept: Kept[str, int] = Kept()
    calls: list[int] = []

    def find() -> int:
        calls.append(1)
        return 7

    assert [kept.found("a", find), kept.found("a", find)] == [7, 7]
    assert len(calls) == 1


def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    kept: Kept[str, int] = Kept(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
