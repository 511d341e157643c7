"""How many connections are used."""

from __future__ import annotations

import pytest

from orchestrator.registry.ramp import Ramp


def grown(ramp: Ramp, *measured: int) -> list[int]:
    wanted = []
    for received in measured:
        ramp.measured(received)
        wanted.append(ramp.wanted)
    return wanted


def test_connections_double_while_that_brings_more() -> None:
    assert grown(Ramp(), 10, 20, 40, 80, 160, 300) == [2, 4, 8, 16, 16, 16]


def test_a_step_that_brings_nothing_is_taken_back() -> None:
    assert grown(Ramp(), 100, 110, 500, 1000) == [2, 1, 1, 1]
    assert grown(Ramp(), 100, 200, 210, 1000) == [2, 4, 2, 2]


def test_a_step_is_tried_again_later_and_then_later_still() -> None:
    ramp = Ramp()
    assert grown(ramp, 100, 110) == [2, 1]
    assert grown(ramp, *[100] * 20) == [1] * 19 + [2]
    assert grown(ramp, 110) == [1]
    assert grown(ramp, *[100] * 40) == [1] * 39 + [2]
    assert grown(ramp, 200) == [4]


def test_nothing_is_learned_before_the_first_byte() -> None:
    assert grown(Ramp(), 0, 0, 10) == [1, 1, 2]


@pytest.mark.parametrize(("most", "wanted"), [(1, [1, 1]), (2, [2, 2]), (3, [2, 3])])
def test_there_is_a_limit(most: int, wanted: list[int]) -> None:
    assert grown(Ramp(most), 10, 20) == wanted


def test_a_refusal_ends_the_growth() -> None:
    ramp = Ramp()
    grown(ramp, 10, 20, 40)
    ramp.refused(6)
    assert ramp.wanted == 5
    assert grown(ramp, 1000) == [5]
    ramp.stop()
    assert ramp.wanted == 1
