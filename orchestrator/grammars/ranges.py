"""Numbers between bounds, digit by digit.

Bounds are exact decimals; a number that has bounds is written without an exponent. Expressions are GBNF, and
``None`` is one that nothing fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

from orchestrator.grammars.gbnf import literal, one_of, repeated

MOST_DIGITS = 16
"""Digits of a whole number without bounds, and of a fraction."""

_DIGIT = "[0-9]"
_INFINITY = Decimal("Infinity")


@dataclass(frozen=True, slots=True)
class Bounds:
    """From ``low`` to ``high``, infinite where there is no bound; an *open* end does not belong to it."""

    low: Decimal = -_INFINITY
    high: Decimal = _INFINITY
    low_open: bool = False
    high_open: bool = False

    def __and__(self, other: Bounds) -> Bounds:
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, high_closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        return Bounds(low, high, low_open, not high_closed)

    def __contains__(self, number: Decimal) -> bool:
        above = number > self.low or (number == self.low and not self.low_open)
        return above and (number < self.high or (number == self.high and not self.high_open))

    @property
    def mirrored(self) -> Bounds:
        """The negatives of all numbers within."""
        return Bounds(-self.high, -self.low, self.high_open, self.low_open)

    @property
    def whole(self) -> tuple[int | None, int | None]:
        """The first and the last whole number within, where there are bounds."""
        low = None if self.low.is_infinite() else int(self.low.to_integral_value(ROUND_CEILING))
        high = None if self.high.is_infinite() else int(self.high.to_integral_value(ROUND_FLOOR))
        if low is not None and self.low_open and low == self.low:
            low += 1
        if high is not None and self.high_open and high == self.high:
            high -= 1
        return low, high


NO_BOUNDS = Bounds()
_NOT_NEGATIVE = Bounds(low=Decimal(0))


def whole_numbers(bounds: Bounds) -> str | None:
    """The whole numbers within ``bounds``."""
    low, high = bounds.whole
    if low is not None and high is not None and low > high:
        return None
    options = []
    if low is None or low < 0:
        nearest = 1 if high is None or high >= 0 else -high
        options.append(f'"-" {_naturals(nearest, None if low is None else -low)}')
    if high is None or high >= 0:
        options.append(_naturals(max(low or 0, 0), high))
    return one_of(options)


def decimals(bounds: Bounds) -> str | None:
    """The decimal numbers within ``bounds``."""
    options = []
    if bounds.low < 0 and (negative := _magnitudes(bounds.mirrored & _NOT_NEGATIVE)):
        options.append(f'"-" {negative}')
    if bounds.high >= 0 and (positive := _magnitudes(bounds & _NOT_NEGATIVE)):
        options.append(positive)
    return one_of(options) if options else None


def _naturals(low: int, high: int | None) -> str:
    """Whole numbers from ``low``, which is not negative, to ``high``."""
    first, size = str(low), len(str(low))
    if high is None:
        longer = f"[1-9] {repeated(_DIGIT, size if low else 0, max(size, MOST_DIGITS - 1))}"
        return one_of([_of_one_length(first, "9" * size) if low else '"0"', longer])
    last, most = str(high), len(str(high))
    if size == most:
        return _of_one_length(first, last)
    options = [_of_one_length(first, "9" * size)]
    if most - size > 1:
        options.append(f"[1-9] {repeated(_DIGIT, size, most - 2)}")
    return one_of([*options, _of_one_length("1" + "0" * (most - 1), last)])


def _of_one_length(low: str, high: str) -> str:
    """Strings of digits, as long as ``low`` and ``high``, between the two."""
    if low == high:
        return literal(low)
    same = next(i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b)
    if same:
        return f"{literal(low[:same])} {_of_one_length(low[same:], high[same:])}"
    first, last, rest = int(low[0]), int(high[0]), len(low) - 1
    if not rest:
        return _digits(first, last)
    options = []
    if low[1:] != "0" * rest:
        options.append(f"{literal(low[0])} {_of_one_length(low[1:], '9' * rest)}")
        first += 1
    if high[1:] != "9" * rest:
        options.append(f"{literal(high[0])} {_of_one_length('0' * rest, high[1:])}")
        last -= 1
    if first <= last:
        options.append(f"{_digits(first, last)} {repeated(_DIGIT, rest, rest)}")
    return one_of(options)


def _digits(first: int, last: int) -> str:
    return literal(str(first)) if first == last else f"[{first}-{last}]"


def _magnitudes(bounds: Bounds) -> str | None:
    """Decimal numbers within ``bounds``, none of which is negative."""
    if bounds.low > bounds.high or (bounds.low == bounds.high and (bounds.low_open or bounds.high_open)):
        return None
    low, low_fraction = _split(bounds.low)
    if bounds.high.is_infinite():
        options = [
            _with_fraction(literal(str(low)), _at_least(low_fraction, bounds.low_open)),
            _with_fraction(_naturals(low + 1, None), _ANY),
        ]
        return one_of(filter(None, options))
    high, high_fraction = _split(bounds.high)
    if low == high:
        between = _between(low_fraction, high_fraction, bounds.low_open, bounds.high_open)
        return _with_fraction(literal(str(low)), between)
    options = [
        _with_fraction(literal(str(low)), _at_least(low_fraction, bounds.low_open)),
        _with_fraction(_naturals(low + 1, high - 1), _ANY) if high - low > 1 else None,
        _with_fraction(literal(str(high)), _at_most(high_fraction, bounds.high_open)),
    ]
    return one_of(filter(None, options))


def _split(number: Decimal) -> tuple[int, str]:
    """The whole part, and the digits after the point without zeros at the end."""
    whole, _, fraction = f"{number:f}".partition(".")
    return int(whole), fraction.rstrip("0")


class _Tail(NamedTuple):
    """Digits that may go on a fraction: those that are some, and whether it may end here."""

    more: str | None
    may_end: bool


_ANY = _Tail(f"{_DIGIT}{{1,{MOST_DIGITS}}}", True)
_ZEROS = _Tail(f'"0"{{1,{MOST_DIGITS}}}', True)
_NOTHING = _Tail(None, False)
_NOT_ALL_ZERO = _Tail(f'"0"{{0,{MOST_DIGITS - 1}}} [1-9] {_DIGIT}{{0,{MOST_DIGITS - 1}}}', False)


def _with_fraction(whole: str, fraction: _Tail) -> str | None:
    point = f'"." {fraction.more}' if fraction.more else None
    return _joined(whole, _Tail(point, fraction.may_end))


def _joined(head: str, tail: _Tail) -> str | None:
    if tail.more is None:
        return head if tail.may_end else None
    return f"{head} ({tail.more})?" if tail.may_end else f"{head} {tail.more}"


def _options(options: list[str | None], *, may_end: bool) -> _Tail:
    possible = [option for option in options if option is not None]
    return _Tail(one_of(possible) if possible else None, may_end)


def _at_least(fraction: str, is_open: bool) -> _Tail:
    """Digits of fractions not below ``fraction``, or above it if that end is open."""
    if not fraction:
        return _NOT_ALL_ZERO if is_open else _ANY
    digit = int(fraction[0])
    above = _joined(_digits(digit + 1, 9), _ANY) if digit < 9 else None
    same = _joined(literal(fraction[0]), _at_least(fraction[1:], is_open))
    return _options([above, same], may_end=False)


def _at_most(fraction: str, is_open: bool) -> _Tail:
    """Digits of fractions not above ``fraction``, or below it if that end is open."""
    if not fraction:
        return _NOTHING if is_open else _ZEROS
    digit = int(fraction[0])
    below = _joined(_digits(0, digit - 1), _ANY) if digit else None
    same = _joined(literal(fraction[0]), _at_most(fraction[1:], is_open))
    return _options([below, same], may_end=True)


def _between(low: str, high: str, low_open: bool, high_open: bool) -> _Tail:
    """Digits of fractions from ``low`` to ``high``."""
    may_end = not low and not low_open
    if not low and not high:
        return _NOTHING if low_open or high_open else _ZEROS
    first, last = int(low[:1] or "0"), int(high[:1] or "0")
    if first == last:
        inner = _between(low[1:], high[1:], low_open, high_open)
        return _options([_joined(literal(str(first)), inner)], may_end=may_end)
    options = [
        _joined(literal(str(first)), _at_least(low[1:], low_open)),
        _joined(_digits(first + 1, last - 1), _ANY) if last - first > 1 else None,
        _joined(literal(str(last)), _at_most(high[1:], high_open)),
    ]
    return _options(options, may_end=may_end)
