from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrator.grammars.ranges import NO_BOUNDS, Bounds, decimals, whole_numbers
from tests.grammars.gbnf import Gbnf

NUMBERS = (
    st.decimals(-1500, 1500, places=3)
    | st.integers(-30, 30).map(Decimal)
    | st.integers(-(10**7), 10**7).map(Decimal)
)
ENDS = st.booleans()


@st.composite
def bounds(draw: st.DrawFn) -> Bounds:
    low, high = sorted((draw(NUMBERS), draw(NUMBERS)))
    found = Bounds(low, high, draw(ENDS), draw(ENDS))
    kept = draw(st.sampled_from(["both", "low", "high"]))
    if kept == "low":
        return Bounds(low=found.low, low_open=found.low_open)
    return found if kept == "both" else Bounds(high=found.high, high_open=found.high_open)


def accepts(expression: str | None, text: str) -> bool:
    return expression is not None and Gbnf(f"root ::= {expression}\n").accepts(text)


@given(bounds(), NUMBERS)
def test_a_decimal_is_accepted_if_it_lies_within(limits: Bounds, number: Decimal) -> None:
    assert accepts(decimals(limits), f"{number:f}") == (number in limits)


@given(bounds(), st.integers(-2000, 2000))
def test_a_whole_number_is_accepted_if_it_lies_within(limits: Bounds, number: int) -> None:
    assert accepts(whole_numbers(limits), str(number)) == (Decimal(number) in limits)


@given(bounds(), st.integers(-3, 3), ENDS)
def test_numbers_at_the_ends_are_no_exception(limits: Bounds, distance: int, upper: bool) -> None:
    end = limits.high if upper else limits.low
    assume(end.is_finite())
    near = end + distance * Decimal("0.001")
    assert accepts(decimals(limits), f"{near:f}") == (near in limits)
    first, last = limits.whole
    whole = last if upper else first
    assume(whole is not None)
    number = (whole or 0) + distance
    assert accepts(whole_numbers(limits), str(number)) == (Decimal(number) in limits)


@given(bounds(), bounds(), NUMBERS)
def test_joined_bounds_hold_both(first: Bounds, second: Bounds, number: Decimal) -> None:
    assert (number in (first & second)) == (number in first and number in second)


@pytest.mark.parametrize(
    ("limits", "good", "bad"),
    [
        (
            Bounds(Decimal(0), Decimal(1)),
            ["0", "0.0", "0.5", "1", "1.000"],
            ["1.01", "-0.1", "01", "1.", "0."],
        ),
        (Bounds(Decimal(0), Decimal(1), True, True), ["0.001", "0.999"], ["0", "0.000", "1", "1.0"]),
        (Bounds(low=Decimal("0.25")), ["0.25", "0.3", "7", "9999999999999999"], ["0.2", "0.249", "0"]),
        (Bounds(high=Decimal("-1.5")), ["-1.5", "-1.50", "-2", "-1.51"], ["-1.4", "-1", "0", "1.5"]),
        (Bounds(Decimal(-1), Decimal(1)), ["-1", "-0.5", "0", "-0", "1.0"], ["-1.1", "2"]),
    ],
)
def test_decimals_are_written_plainly(limits: Bounds, good: list[str], bad: list[str]) -> None:
    expression = decimals(limits)
    assert all(accepts(expression, text) for text in good)
    assert not any(accepts(expression, text) for text in bad)


@pytest.mark.parametrize(
    "limits",
    [
        Bounds(Decimal(2), Decimal(1)),
        Bounds(Decimal(1), Decimal(1), True),
        Bounds(Decimal("0.1"), Decimal("0.9")),
    ],
)
def test_no_whole_number_may_be_left(limits: Bounds) -> None:
    assert whole_numbers(limits) is None


@pytest.mark.parametrize("limits", [Bounds(Decimal(2), Decimal(1)), Bounds(Decimal(1), Decimal(1), True)])
def test_no_decimal_may_be_left(limits: Bounds) -> None:
    assert decimals(limits) is None


def test_without_bounds_numbers_have_a_bearable_length() -> None:
    expression = whole_numbers(NO_BOUNDS)
    assert accepts(expression, "-" + "9" * 16)
    assert not accepts(expression, "9" * 17)


def test_bounds_of_any_length_are_kept() -> None:
    limits = Bounds(Decimal(10**30), Decimal(10**31))
    assert accepts(whole_numbers(limits), str(10**30))
    assert not accepts(whole_numbers(limits), str(10**30 - 1))
