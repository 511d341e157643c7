"""What is told of options that do not count as they are.

Each check looks at one option; what it has no word for means what it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.option_limits import (
    HELD_OPTIONS,
    INT_MAX,
    INT_MIN,
    MOST_THREADS,
    longest_answer,
    longest_look_back,
)
from orchestrator.domain.options import FLOAT_OPTIONS, WHOLE_OPTIONS, read_options
from orchestrator.domain.remarks import counts_as, no_effect

_TINY_WINDOW = 32
_SEEDS = 1 << 32
_RANDOM_SEED = _SEEDS - 1
"""What the engine takes for the wish that each answer be another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is known of a request beside its options."""

    window: int
    """Tokens of context it gets."""
    smallest_window: int
    trained_window: int = 0
    """Tokens the model was trained for; 0 is not known."""
    drafts: bool = False
    """Something guesses tokens ahead for the model."""
    zero_is_unlimited: bool = False
    """A budget of 0 tokens is none."""


def remarks(options: Mapping[str, Any], frame: Frame) -> Iterator[str]:
    """One text for each of ``options``, of a request or model, that does not count as it is."""
    for name, value in options.items():
        if name == "stop":
            yield from _of_stops(value)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            continue
        elif name in WHOLE_OPTIONS:
            yield from _of_whole_number(name, value, frame)
        elif name in FLOAT_OPTIONS:
            yield from _of_fraction(name, value)


def _of_stops(stops: Any) -> Iterator[str]:
    if isinstance(stops, list | tuple) and "" in stops:
        yield 'option "stop" has an empty text, which ends every answer before it begins'


def _of_fraction(name: str, value: float) -> Iterator[str]:
    if math.isinf(read_options({name: value})[name]):
        yield no_effect(_option(name), "it is out of range")
    elif name == "repeat_penalty" and value <= 0:
        yield counts_as(_option(name), 1, "a penalty is greater than 0")


def _of_whole_number(name: str, value: float, frame: Frame) -> Iterator[str]:
    if (check := _CHECKS.get(name)) and (told := check(_option(name), value, frame)):
        yield told
    elif name in HELD_OPTIONS and not INT_MIN <= value <= INT_MAX:
        yield counts_as(_option(name), INT_MAX if value > 0 else INT_MIN, "engines read no more")
    elif value != int(value):
        yield counts_as(_option(name), int(value), "it is a whole number")


def _window(option: str, value: float, frame: Frame) -> str | None:
    if value < frame.smallest_window:
        return counts_as(option, frame.window, f"no window here is smaller{_tightness(frame.window)}")
    if 0 < frame.trained_window < value:
        return counts_as(option, frame.window, "the model was trained for no more")
    return f"{option} is {int(value)}{_tightness(value)}" if value < _TINY_WINDOW else None


def _tightness(window: float) -> str:
    return ", and next to nothing fits into so little" if window < _TINY_WINDOW else ""


def _batch(option: str, value: float, frame: Frame) -> str | None:
    if value < 1:
        return no_effect(option, "nothing is read in batches so small, so the engine uses its own size")
    if value > frame.window:
        return counts_as(option, "all of the context", "there is no more to be read at once")
    return None


def _threads(option: str, value: float, _: Frame) -> str | None:
    if value > MOST_THREADS:
        return no_effect(option, f"an engine takes {MOST_THREADS} threads at most, so it uses one per core")
    return no_effect(option, "it is negative, so the engine uses one per core") if value < 0 else None


def _kept(option: str, value: float, frame: Frame) -> str | None:
    if value < -1:
        return counts_as(option, -1, "all that fits is kept")
    return counts_as(option, frame.window - 1, "no more can be kept") if value >= frame.window else None


def _look_back(option: str, value: float, frame: Frame) -> str | None:
    if value < -1:
        return counts_as(option, -1, "that is the whole window")
    if value > longest_look_back(frame.window):
        return counts_as(option, "all tokens of the request", "there are no more")
    return None


def _budget(option: str, value: float, frame: Frame) -> str | None:
    if value == 0 and frame.zero_is_unlimited:
        return no_effect(option, "0 is no limit here")
    if value > longest_answer(frame.window):
        return counts_as(option, "ten context windows", "no answer is longer")
    return None


def _seed(option: str, value: float, _: Frame) -> str | None:
    if -_SEEDS // 2 <= value < _RANDOM_SEED:
        return None
    seed = read_options({"seed": value})["seed"] % _SEEDS
    return counts_as(option, -1 if seed == _RANDOM_SEED else seed, "a seed has 32 bits")


def _draft(option: str, value: float, frame: Frame) -> str | None:
    return None if frame.drafts or value <= 0 else no_effect(option, "nothing guesses ahead for this model")


_CHECKS: Mapping[str, Callable[[str, float, Frame], str | None]] = {
    "num_ctx": _window,
    "num_batch": _batch,
    "num_thread": _threads,
    "num_keep": _kept,
    "repeat_last_n": _look_back,
    "num_predict": _budget,
    "seed": _seed,
    "draft_num_predict": _draft,
}


def _option(name: str) -> str:
    return f'option "{name}"'
